package telemetry

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"log/slog"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"mcpd/supervisor/otp"
)

var snake = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// Every struct in events.go has a row with a matching name.
func TestEveryEventHasItsRow(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "events.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, r := range events {
		name := reflect.TypeOf(r.event).Name()
		names[name] = true
		if want := snakeCase(name); r.name != want {
			t.Errorf("%s is called %q, want %q", name, r.name, want)
		}
		if r.message == "" || r.meaning == "" || strings.HasSuffix(r.message, ".") ||
			unicode.IsUpper(rune(r.message[0])) {
			t.Errorf("%s: message %q, meaning %q: want short sentences in lower case, without a period",
				r.name, r.message, r.meaning)
		}
		if r.lines <= 0 {
			t.Errorf("%s: no bound on its lines", r.name)
		}
	}
	if len(byType) != len(events) {
		t.Errorf("%d rows for %d types", len(events), len(byType))
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name == "Where" {
			return true
		}
		if _, isStruct := spec.Type.(*ast.StructType); isStruct && !names[spec.Name.Name] {
			t.Errorf("%s has no row in table.go", spec.Name.Name)
		}
		return true
	})
}

func snakeCase(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Every field can be shown, has a description, and does not hide a common key.
func TestEveryFieldIsShown(t *testing.T) {
	for _, r := range events {
		v := reflect.New(reflect.TypeOf(r.event)).Elem()
		keys := map[string]bool{"ts": true, "level": true, "msg": true, keyEvent: true, keyTenant: true,
			keyServer:  true,
			keySession: true, keyExchange: true, keyIncident: true, keyPath: true, keySuppressed: true}
		fields := fieldsOf(v.Type())
		if want := v.NumField() - 1; len(fields) != want {
			t.Errorf("%s: %d of %d fields have a key", r.name, len(fields), want)
		}
		for _, f := range fields {
			fill(t, v.Field(f.index))
			if !snake.MatchString(f.key) || keys[f.key] || f.is == "" {
				t.Errorf("%s: key %q, meaning %q: want a key of its own and a meaning", r.name, f.key, f.is)
			}
			keys[f.key] = true
		}
		if got := attrs(v.Interface().(Event)); len(got) < len(fields) {
			t.Errorf("%s shows %v, want all %d fields", r.name, got, len(fields))
		}
	}
}

func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Interface().(type) {
	case string:
		v.SetString("x")
	case bool:
		v.SetBool(true)
	case int, time.Duration:
		v.SetInt(1)
	case uint32, uint64:
		v.SetUint(1)
	case Closing:
		v.SetUint(uint64(ClosedIdle))
	case *otp.CrashReport:
		v.Set(reflect.ValueOf(&otp.CrashReport{Mailbox: 1}))
	default:
		t.Fatalf("no sample of %s", v.Type())
	}
}

func TestParseFormat(t *testing.T) {
	for in, want := range map[string]Format{"auto": FormatAuto, "TEXT": FormatText,
		"json": FormatJSON} {
		if got, err := ParseFormat(in); got != want || err != nil {
			t.Errorf("ParseFormat(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
	if _, err := ParseFormat("xml"); err == nil || !strings.Contains(err.Error(), `"xml"`) {
		t.Errorf("ParseFormat(xml) error = %v, want one that names it", err)
	}
}

// A writer that is not a terminal gets JSON, and no colours even as text.
func TestFormatFollowsTheWriter(t *testing.T) {
	for format, want := range map[Format]string{FormatAuto: `{"ts":"`, FormatJSON: `{"ts":"`,
		FormatText: ""} {
		var out strings.Builder
		NewLogger(&out, format, slog.LevelInfo).Warn("a \x1b[31mred\x1b[0m word", "from", "a\nb")
		if !strings.HasPrefix(out.String(), want) ||
			strings.ContainsAny(strings.TrimSuffix(out.String(), "\n"), "\x1b\n") {
			t.Errorf("format %s wrote %q", format, out.String())
		}
	}
	NewLogger(io.Discard, FormatText, slog.LevelInfo).Info("the discarding writer is no terminal")
}

func TestClean(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "files ready, 14 tools", "files ready, 14 tools"},
		{"other scripts", "größe 大小 🙂", "größe 大小 🙂"},
		{"terminal escape", "\x1b[2J\x1b]0;title\a", `\x1b[2J\x1b]0;title\a`},
		{"forged line", "x\r\nlevel=error msg=forged", `x\r\nlevel=error msg=forged`},
		{"nul and del", "a\x00b\x7f", `a\x00b\x7f`},
		{"c1 control", "a\u009b31m", `a\u009b31m`},
		{"reordering", "user\u202eexe.txt", `user\u202eexe.txt`},
		{"zero width", "ad\u200bmin", `ad\u200bmin`},
		{"tag characters", "hi\U000e0041", `hi\U000e0041`},
		{"line separator", "a\u2028b", `a\u2028b`},
		{"not utf-8", "a\xffb", `a\xffb`},
		{"cut between characters", strings.Repeat("ä", 40),
			strings.Repeat("ä", 31) + "… (18 bytes more)"},
	}
	for _, test := range tests {
		if got := Clean(test.in, 63); got != test.want {
			t.Errorf("%s: Clean(%q) = %q, want %q", test.name, test.in, got, test.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b[31m\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s, MaxValue)
		if i := strings.IndexFunc(got, unsafeRune); i >= 0 && got[i:] != "\ufffd" &&
			!strings.HasPrefix(got[i:], "\ufffd") {
			t.Errorf("Clean(%q) = %q, unsafe at %d", s, got, i)
		}
		if again := Clean(got, 8*MaxValue); again != got {
			t.Errorf("Clean is not stable: %q, then %q", got, again)
		}
	})
}

// The documented causes of closed sessions are those that are used: every reason has one of the
// documented words, and a phrase of its own.
func TestClosingsAreDocumented(t *testing.T) {
	documented, _, _ := strings.Cut(Closing(0).Means(), ";")
	if want := "closed, expired, evicted, draining, crashed"; documented != want {
		t.Errorf("documented are %q, want %q", documented, want)
	}
	page, err := os.ReadFile("../docs/telemetry.gen.md")
	if err != nil || !strings.Contains(string(page), "`cause`: "+Closing(0).Means()) {
		t.Errorf("the page lists other words (%v)", err)
	}
	phrases := map[string]bool{}
	for i := range closings {
		c := Closing(i)
		if !slices.Contains(strings.Split(documented, ", "), c.String()) || c.Phrase() == "" ||
			phrases[c.Phrase()] {
			t.Errorf("reason %d is %q, %q", i, c, c.Phrase())
		}
		phrases[c.Phrase()] = true
		got := fmt.Sprint(attrs(SessionClosed{Cause: c}))
		if want := "[cause=" + c.String() + " reason=" + c.Phrase() + "]"; got != want {
			t.Errorf("the log has %s, want %s", got, want)
		}
	}
}
