package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mcpd/chaos/record"
)

// hostile are texts of a host that tries to inject markup, control characters or scripts.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`,
	`javascript:alert(1)`, `</title></style></svg><svg onload=alert(1)>`,
	`]]><testcase name="forged"/>`, "\x1b[2J\x1b]0;title\a", "a\r\nPASS forged", "\xff\xfe",
	"ad\u202emin", "{{.Style}}", `url(https://example.invalid/)`, strings.Repeat("w", 5000), "",
}

var (
	oddFloats = []float64{
		math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, 5e-324, 1e308, -1e308, 0.5, 1e9,
	}
	oddInts = []int64{0, -1, math.MaxInt64, math.MinInt64, 1, 1e6}
)

// spoil changes a record at random: one value in the given number.
func spoil(random *rand.Rand, v reflect.Value, one int) {
	hit := func() bool { return random.IntN(one) == 0 }
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				spoil(random, v.Field(i), one)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			spoil(random, v.Elem(), one)
		}
	case reflect.Array, reflect.Slice:
		for i := range v.Len() {
			spoil(random, v.Index(i), one)
		}
		if v.Kind() == reflect.Slice && hit() {
			v.Set(reflect.Zero(v.Type()))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			spoil(random, value, one)
			if hit() {
				v.SetMapIndex(key, reflect.Value{})
				key = reflect.ValueOf(hostile[random.IntN(len(hostile))])
			}
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		if hit() {
			v.SetString(hostile[random.IntN(len(hostile))])
		}
	case reflect.Float64:
		if hit() {
			v.SetFloat(oddFloats[random.IntN(len(oddFloats))])
		}
	case reflect.Int:
		if hit() {
			v.SetInt(oddInts[random.IntN(len(oddInts))])
		}
	case reflect.Uint64:
		if hit() {
			v.SetUint(random.Uint64() >> random.IntN(64))
		}
	case reflect.Bool:
		v.SetBool(v.Bool() != hit())
	}
}

// largest bounds the page of one record, in bytes, whatever the record contains.
const largest = 4 << 20

func TestOddRecordsAreShown(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 2))
		list := samples()[:1+random.IntN(3)]
		for i := range list {
			spoil(random, reflect.ValueOf(&list[i]).Elem(), 1+random.IntN(40))
		}
		sound(t, fmt.Sprintf("seed %d", seed), list)
	}
	for name, r := range map[string]record.Record{
		"nothing": {},
		"no phases": {Groups: []record.Group{
			{Role: record.Target, Seconds: []record.Second{{At: 0, OK: 1, P50: 1, P99: 2}}},
		}},
		"no time": {Phases: []record.Phase{{Name: record.Fault, From: 5, To: 5}},
			Strikes: []record.Strike{{Kind: "a"}}},
		"less than any": {Phases: []record.Phase{{Name: record.Fault, From: 0, To: 5e-324}}},
		"an instant": {Phases: []record.Phase{{Name: record.Fault, From: 0, To: 0.0011}},
			Probes: []record.Probe{{Name: "p", Answers: []record.Answer{{At: 0.001}}}}},
	} {
		sound(t, name, []record.Record{r})
	}
}

func TestLongRecordsStayShort(t *testing.T) {
	r := hang.record()
	for i := range 5_000 {
		path := fmt.Sprintf("mcpd/tenants/t%d/server_sup/%s", i%100,
			strings.Repeat("n/", i%200)+fmt.Sprint(i))
		r.Rows = append(r.Rows, record.Row{
			Path: path, Restarts: i % 3, Before: "running", After: "running",
		})
		at := float64(i) / 10
		r.Strikes = append(r.Strikes, record.Strike{
			Kind: fmt.Sprintf("kind.%d", i%50), Target: path, From: at, To: at + 0.01, Hits: 1,
		})
		r.Events = append(r.Events, record.Event{
			At: at, Level: "error", Name: record.Restarted, Path: path, Message: hostile[i%len(hostile)],
		})
		r.Probes = append(r.Probes, record.Probe{Name: "p", Answers: []record.Answer{{At: at}}})
		r.Figures = append(r.Figures, record.Figure{Name: "f", Samples: []float64{at}})
		r.Verdicts = append(r.Verdicts, record.Verdict{ID: "I1", Result: record.Fail})
		r.Groups[0].Violations = append(r.Groups[0].Violations, record.Violation{Kind: "lost"})
		r.Groups[0].Errors[fmt.Sprint(i)] = 1
		r.Experiment.MayRestart = append(r.Experiment.MayRestart, path)
		r.Figures[0].Samples = append(r.Figures[0].Samples, at)
	}
	for i := range 500 {
		g := r.Groups[1]
		g.Tenant = fmt.Sprintf("t%d", i)
		r.Groups = append(r.Groups, g)
	}
	if size := len(sound(t, "long", []record.Record{r})); size > 1<<20 {
		t.Errorf("the page has %d bytes", size)
	}
}

var (
	tag   = regexp.MustCompile(`</?([a-zA-Z][a-zA-Z0-9]*)([^>]*)>`)
	whole = regexp.MustCompile(`^(?: [a-zA-Z-]+(?:="[^"]*")?)*/?$`)
	each  = regexp.MustCompile(` ([a-zA-Z-]+)(?:="([^"]*)")?`)
	known = strings.Fields("lang charset name content id class href style d x y width height scope " +
		"role aria-label aria-hidden viewBox preserveAspectRatio http-equiv")
	drawn = regexp.MustCompile(
		`^(?:[MVHhvz0-9. -]*|(?:left|top|width):[0-9.]+%(?:;width:[0-9.]+%)?|device-width.*)$`,
	)
	tags = strings.Fields("html head meta title style body main header section article footer h1 h2 " +
		"h3 h4 p b i em small code a span div dl dt dd table thead tbody tr th td details summary " +
		"figure figcaption svg path rect")
)

// sound writes records in every format and checks the outputs. It returns the page.
func sound(t *testing.T, name string, list []record.Record) []byte {
	t.Helper()
	var text, junit, page bytes.Buffer
	if err := errors.Join(Text(&text, list), JUnit(&junit, list), HTML(&page, list)); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if i := bytes.IndexFunc(text.Bytes(), func(r rune) bool {
		return r < ' ' && r != '\n' || r == 0x7f || r == 0x202e || r == '\ufffd'
	}); i >= 0 {
		t.Errorf("%s: the table has %q", name, text.Bytes()[i:min(i+20, text.Len())])
	}
	cases := 0
	for in := xml.NewDecoder(&junit); ; {
		token, err := in.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%s: JUnit: %v", name, err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "testcase" {
			cases++
		}
	}
	want := 0
	for _, r := range list {
		want += len(r.Verdicts)
		if r.Aborted != "" {
			want++
		}
		for _, s := range r.Strikes {
			if s.Error != "" {
				want++
			}
			if s.Wrong != "" {
				want++
			}
		}
	}
	if cases != want {
		t.Errorf("%s: JUnit has %d cases, want %d", name, cases, want)
	}
	html := page.Bytes()
	if most := 32<<10 + len(list)*largest; len(html) > most {
		t.Errorf("%s: the page has %d bytes, want at most %d", name, len(html), most)
	}
	body := style.ReplaceAll(html, nil)
	for _, m := range tag.FindAllSubmatch(body, -1) {
		if !slices.Contains(tags, string(m[1])) {
			t.Errorf("%s: an element %s", name, m[0])
		}
		if !whole.Match(m[2]) {
			t.Errorf("%s: a broken element %s", name, m[0])
		}
		for _, a := range each.FindAllSubmatch(m[2], -1) {
			switch attribute, value := string(a[1]), string(a[2]); {
			case !slices.Contains(known, attribute):
				t.Errorf("%s: an attribute %s: %s", name, attribute, m[0])
			case attribute == "href" && !strings.HasPrefix(value, "#"):
				t.Errorf("%s: a reference outside: %s", name, m[0])
			case slices.Contains([]string{"d", "x", "y", "width", "style"}, attribute) &&
				!drawn.MatchString(value):
				t.Errorf("%s: a drawing of no number: %.300s", name, m[0])
			}
		}
	}
	return html
}
