package config

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mcpd/gateway/config/document"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
)

var update = flag.Bool("update", false,
	"rewrite expected messages, printed configurations and generated documentation")

// environment holds all variables that the files of testdata see.
var environment = map[string]string{
	"TOKEN": "hunter2", "DIR": "/srv/data", "EMPTY": "", "HOST": "127.0.0.1:9001", "NUL": "a\x00b",
	"EVIL": "${env:TOKEN}",
}

func options(file string) Options {
	return Options{
		File:     filepath.Base(file),
		Env:      func(name string) (string, bool) { v, ok := environment[name]; return v, ok },
		Builtins: []string{"demo", "echo"},
	}
}

// Every *.bad.yaml has one mistake. Its first lines hold the expected message.
func TestMistakesAreExplained(t *testing.T) {
	files, err := filepath.Glob("testdata/*.bad.yaml")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d files with mistakes, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		body := string(data)
		for line, rest, _ := strings.Cut(body, "\n"); strings.HasPrefix(line,
			"#: "); line, rest, _ = strings.Cut(body, "\n") {
			want, body = append(want, strings.TrimPrefix(line, "#: ")), rest
		}
		_, err = Load([]byte(body), options(file))
		var problems Problems
		if !errors.As(err, &problems) {
			t.Errorf("%s: no mistake was found", file)
			continue
		}
		if got := err.Error(); got != strings.Join(want, "\n") {
			if *update {
				body = "#: " + strings.ReplaceAll(got, "\n", "\n#: ") + "\n" + body
				if err := os.WriteFile(file, []byte(body), 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			t.Errorf("%s:\n got %s\nwant %s", file, got, strings.Join(want, "\nwant "))
		}
		for _, p := range problems {
			if p.What == "" || p.Why+p.Do == "" || strings.Contains(p.String(), "hunter2") {
				t.Errorf("%s: %q does not say what, why and what to do, or says too much", file, p)
			}
		}
	}
}

// Every *.good.yaml loads, fits the schema, and prints as the file of the same name with .print.
// S88: without a secret.
func TestGoodFilesPrint(t *testing.T) {
	files, err := filepath.Glob("testdata/*.good.*")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d good files, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Load(data, options(file))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		fitsSchema(t, file, data)
		got := string(Print(c))
		if strings.Contains(got, "hunter2") {
			t.Errorf("%s: a secret is printed:\n%s", file, got)
		}
		golden := strings.TrimSuffix(file, filepath.Ext(file)) + ".print"
		golden = strings.Replace(golden, ".good", "", 1)
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(golden); err != nil || got != string(want) {
			t.Errorf("%s prints\n%s\nwant %s, %v", file, got, golden, err)
		}
		fitsSchema(t, golden, []byte(got))
		again, err := Load([]byte(got), options(golden))
		if err != nil {
			t.Errorf("what %s prints is refused: %v", file, err)
			continue
		}
		if third := string(Print(again)); comments(third) != comments(got) &&
			!strings.Contains(got, tenant.Redacted) {
			t.Errorf("%s prints differently the second time:\n%s", file, third)
		}
	}
}

func comments(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i], _, _ = strings.Cut(line, " #")
	}
	return strings.Join(lines, "\n")
}

// base has one of each thing that keys can belong to.
const base = `
tenants:
  acme:
    auth: {keys: [{name: base, sha256: "` + baseHash + `"}]}
    servers: {one: {command: base}}
`
const baseHash = "0000000000000000000000000000000000000000000000000000000000000001"

// The table is complete. Setting a key to its example changes the configuration, and the table
// has only example values that Load accepts.
func TestEachKeyHasAnEffect(t *testing.T) {
	before := mustLoad(t, base)
	for _, k := range Keys() {
		if k.Example == "" || k.Doc == "" || k.Reload == "" || k.Example == k.Default {
			t.Errorf("the row of %s is not complete", k.Path)
		}
		after, err := Load([]byte(with(k)), options(k.Path))
		if err != nil {
			t.Errorf("%s: its example is refused: %v\n%s", k.Path, err, with(k))
			continue
		}
		if reflect.DeepEqual(before, after) {
			t.Errorf("%s: its example changes nothing", k.Path)
		}
		without, err := Load([]byte(strings.Replace(with(k), last(k.Path)+": "+k.Example, "", 1)),
			options(k.Path))
		if err == nil && reflect.DeepEqual(without, after) && k.Path != "mcpServers.*.type" &&
			k.Path != "tenants.*.mcpServers.*.type" {
			t.Errorf("%s: without it the configuration is the same", k.Path)
		}
	}
}

// with returns the base with one key set to its example, and with the other keys that this key
// requires.
func with(k Key) string {
	place := ""
	for _, p := range places {
		if strings.HasPrefix(k.Path, p.path) && len(p.path) > len(place) {
			place = p.path
		}
	}
	key := strings.TrimPrefix(strings.TrimPrefix(k.Path, place), ".")
	inside := last(k.Path) + ": " + k.Example
	switch k.Path {
	case "tls.cert":
		inside += ", key: /k"
	case "proxy_protocol":
		inside += "\ntrusted_proxies: [10.0.0.0/8]"
	case "tls.key":
		inside += ", cert: /c"
	case "tenants.*.auth.keys[].name":
		inside += `, sha256: "` + strings.Replace(baseHash, "1", "2", 1) + `"`
	case "tenants.*.auth.keys[].sha256":
		inside += ", name: ci"
	}
	groups := strings.Split(key, ".")
	for _, group := range slices.Backward(groups[:len(groups)-1]) {
		inside = group + ": {" + inside + "}"
	}
	if strings.HasSuffix(place, "ervers.*") && key != "command" && key != "url" && key != "builtin" {
		if requiredKey[key] == "url" || key == "type" {
			inside += ", url: http://base/"
		} else {
			inside += ", command: base"
		}
	}
	switch place {
	case "tenants.*":
		return strings.Replace(base, "acme:", "acme:\n    "+inside, 1)
	case "tenants.*.auth.keys[]":
		return strings.Replace(base, "keys: [", "keys: [{"+inside+"}, ", 1)
	case "tenants.*.servers.*":
		return strings.Replace(base, "servers: {", "servers: {two: {"+inside+"}, ", 1)
	case "tenants.*.mcpServers.*":
		return strings.Replace(base, "acme:", "acme:\n    mcpServers: {two: {"+inside+"}}", 1)
	case "mcpServers.*":
		return base + "mcpServers: {two: {" + inside + "}}\n"
	}
	return base + inside + "\n"
}

func mustLoad(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Load([]byte(text), options("test.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The defaults are the protocol's own bounds, where the protocol has them: S4-56, S4-57.
func TestDefaultsAreTheProtocols(t *testing.T) {
	c, err := Default(options(""))
	if err != nil {
		t.Fatal(err)
	}
	l := c.Tenants[0].Limits
	for _, row := range []struct {
		name      string
		got, want any
	}{
		{"listen", strings.Join(c.Listen, " "), "127.0.0.1:7420"},
		{"admin.listen", c.Admin.Listen, "127.0.0.1:7421"},
		{"max_body", c.MaxBody, int64(protocol.MaxRequestBody)},
		{"max_pending", l.MaxPending, protocol.MaxPending},
		{"max_session_pending", l.MaxSessionPending, protocol.MaxPendingPerSession},
		{"request_timeout", l.RequestTimeout, protocol.RequestTimeout},
		{"call_timeout", l.CallTimeout, protocol.CallTimeout},
		{"call_timeout_max", l.CallTimeoutMax, protocol.MaxCallTimeout},
		{"input_timeout", l.InputTimeout, protocol.InputTimeout},
		{"question_wait", l.QuestionWait, protocol.QuestionWait},
		{"session_init", l.SessionInit, protocol.InitializeTimeout},
		{"min_version", c.Negotiation.Floor, protocol.Versions()[0]},
		{"max_version", c.Negotiation.Ceiling, protocol.Latest},
		{"tenants", len(c.Tenants), 1},
		{"tenant", c.Tenants[0].Name, tenant.Default},
		{"keys", len(c.Tenants[0].Keys), 0},
		{"server", c.Tenants[0].Servers[0].Builtin, "demo"},
	} {
		if row.got != row.want {
			t.Errorf("%s is %v by default, want %v", row.name, row.got, row.want)
		}
	}
}

// C1, C2, C3: the policy on revisions belongs to the host, and a tenant may override it. The same
// holds for limits. The order of keys in a file does not matter to inheritance.
func TestInheritance(t *testing.T) {
	c := mustLoad(t, `
mcpServers: {Late One: {command: x}}
tenants:
  default:
    mcpServers: {b: {command: y}}
    servers: {a: {command: z, start_timeout: 1s}}
    limits: {start_timeout: 7s, max_pending: 5}
  acme: {servers: {a: {command: x}}}
limits: {max_pending: 9, max_sessions: 8}
negotiation: {mode: strict}
`)
	def, acme := c.Tenants[0], c.Tenants[1]
	if def.Limits.MaxPending != 5 || acme.Limits.MaxPending != 9 || def.Limits.MaxSessions != 8 ||
		acme.Negotiation.Mode != protocol.Strict {
		t.Errorf("limits are %+v and %+v", def.Limits, acme.Limits)
	}
	got := ""
	for _, s := range def.Servers {
		got += s.Name + " " + s.StartTimeout.String() + ", "
	}
	if got != "a 1s, b 7s, late-one 7s, " {
		t.Errorf("the servers of default are %s", got)
	}
	if want := []Imported{{"default", "Late One", "late-one"}}; !reflect.DeepEqual(c.Imported, want) {
		t.Errorf("renamed are %v, want %v", c.Imported, want)
	}
}

// S72, S88, S90: bytes that cannot stand in a fixture, because YAML tools would stumble over
// them.
func TestRefusedBytes(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"NUL in an argument": {"tenants: {default: {servers: {a: {command: x, args: [\"a\\0b\"]}}}}",
			"it contains a NUL character"},
		"NUL from a variable": {
			"tenants: {default: {servers: {a: {command: x, args: [\"${env:NUL}\"]}}}}",
			"a variable contains a NUL character",
		},
		"CRLF in a header": {"tenants: {default: {servers: {a: {url: http://x/, headers: {X: " +
			"\"a\\r\\nb: c\"}}}}}", "a header is one line"},
		"not UTF-8":          {"a: \xff", "not UTF-8"},
		"too large":          {"#" + strings.Repeat("x", document.MaxFile), "at most 1048576 are read"},
		"deep brackets":      {"tenants: " + strings.Repeat("[", 1<<18), "more than 32 levels"},
		"deep dashes":        {strings.Repeat("- ", 1<<18), "more than 32 levels"},
		"an escape in a key": {"\"a\\e[31mb\": 1", `unknown key "a?[31mb"`},
	} {
		_, err := Load([]byte(c.text), options("x"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", name, err, c.want)
		}
	}
	if mustLoad(t, "\ufeff"+base) == nil {
		t.Error("a byte order mark is refused")
	}
}

func TestReportsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 500 {
		b.WriteString("k" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) +
			strings.Repeat("y", i) + ": 1\n")
	}
	_, err := Load([]byte(b.String()), options("x"))
	var problems Problems
	if !errors.As(err, &problems) || len(problems) != document.MaxProblems+1 ||
		!strings.Contains(problems[document.MaxProblems].What, "400 more") {
		t.Errorf("%d problems, the last is %v", len(problems), problems[len(problems)-1])
	}
}

// A flag overrides the file. A wrong value is refused under the name of the flag.
func TestSettingsOverrideTheFile(t *testing.T) {
	o := options("test.yaml")
	o.Set = []Setting{{"listen", "127.0.0.1:1", "--listen"}, {"log.level", "debug", "--log-level"}}
	c, err := Load([]byte("listen: 127.0.0.1:2\n"+base), o)
	if err != nil || !slices.Equal(c.Listen, []string{"127.0.0.1:1"}) || c.Log.Level != "debug" {
		t.Errorf("listen is %v, %v", c, err)
	}
	o.Set = []Setting{{"listen", "nowhere", "--listen"}}
	if _, err = Load([]byte(base), o); err == nil ||
		!strings.HasPrefix(err.Error(),
			`--listen: listen is "nowhere", an address must be a host and a port`) {
		t.Errorf("a bad flag says %v", err)
	}
	o.Set = []Setting{{"listen", ":7420", "--listen"}}
	if _, err = Load([]byte("tenants: {default: {}}"), o); err == nil ||
		!strings.Contains(err.Error(), `tenant "default" has no key, listen :7420 is reachable`) {
		t.Errorf("an open tenant beyond loopback says %v", err)
	}
	o.Set = []Setting{{"admin.listen", "192.0.2.1:7421", "--admin"}}
	if _, err := Load([]byte("mcpServers: {a: {command: x}}\nadmin: {listen: 127.0.0.1:1}"),
		o); err == nil || !strings.HasPrefix(err.Error(), "--admin: admin.listen is 192.0.2.1:7421, ") {
		t.Errorf("an admin listener beyond loopback by a flag: got %v, want a problem of --admin", err)
	}
}

func TestLoopback(t *testing.T) {
	for listen, want := range map[string]bool{
		"127.0.0.1:1": true, "127.9.9.9:1": true, "[::1]:1": true, "localhost:1": true,
		"LOCALHOST:1": true, "[::ffff:127.0.0.1]:1": true,
		":1": false, "0.0.0.0:1": false, "[::]:1": false, "10.0.0.1:1": false,
		"localhost.evil.com:1": false, "example.com:1": false, "x": false,
		"unix:/run/mcp.sock": true,
	} {
		if got := loopback(listen); got != want {
			t.Errorf("loopback(%q) = %v", listen, got)
		}
	}
}

func FuzzLoad(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.yaml")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Load(data, options("fuzz"))
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, "fuzz:") {
					t.Errorf("a message breaks its line: %q", err)
				}
			}
			return
		}
		printed := Print(c)
		if strings.Contains(string(printed), "hunter2") && !strings.Contains(string(data), "hunter2") {
			t.Errorf("a secret is printed:\n%s", printed)
		}
		if _, err := Load(printed, options("printed")); err != nil &&
			!strings.Contains(string(printed), tenant.Redacted) {
			t.Errorf("what is printed is refused: %v\n%s", err, printed)
		}
	})
}
