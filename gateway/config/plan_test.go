package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"mcpd/gateway/tenant"
)

// Every *.plan.txt has two files and the effects of a reload from the first to the second.
func TestPlans(t *testing.T) {
	files, err := filepath.Glob("testdata/*.plan.txt")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d plans, %v", len(files), err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(archive.Files) != 3 {
			t.Fatalf("%s: %d parts, want now, next and plan", file, len(archive.Files))
		}
		now, next := loaded(t, archive.Files[0].Data), loaded(t, archive.Files[1].Data)
		before := string(Print(next))
		plan, err := NewPlan(now, next)
		got := ""
		if err != nil {
			got = "refused: " + err.Error() + "\n"
		} else {
			for _, c := range plan.Changes {
				got += c.String() + "\n"
			}
		}
		if string(Print(next)) != before {
			t.Errorf("%s: the next configuration was changed", file)
		}
		if want := string(archive.Files[2].Data); got != want {
			if *update {
				archive.Files[2].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			t.Errorf("%s:\ngot\n%swant\n%s", file, got, want)
		}
	}
}

func loaded(t *testing.T, text []byte) *Config {
	t.Helper()
	c, err := Load(text, options("plan"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Keys that need a restart keep their values whatever the file says. All other keys have the
// values of the file.
func TestPlanKeepsWhatNeedsARestart(t *testing.T) {
	for _, k := range hostKeys {
		// A listener keeps its scheme, see testdata/tls.plan.txt.
		files := TLS{Cert: "/a", Key: "/b"}
		now, next := &Config{TLS: files}, &Config{TLS: files}
		write(t, k, scope{config: next})
		plan, err := NewPlan(now, next)
		if err != nil {
			t.Fatal(err)
		}
		value := func(c *Config) any { return reflect.ValueOf(k.at(scope{config: c})).Elem().Interface() }
		kept := reflect.DeepEqual(value(plan.Config), value(now))
		if kept != (k.Reload == Restart) {
			t.Errorf("%s: kept %v, and a reload of it is %q", k.Path, kept, k.Reload)
		}
		if len(plan.Changes) != 1 || plan.Changes[0] != (Change{k.Path, k.Reload}) {
			t.Errorf("%s: %v", k.Path, plan.Changes)
		}
	}
}

// The table and tenant.Server.NeedsReconnect agree about every key of a server.
func TestServersReconnectAsTheTableSays(t *testing.T) {
	for _, k := range serverKeys {
		before, after := tenant.Server{Name: "files"}, tenant.Server{Name: "files"}
		write(t, k, scope{server: &after})
		if got, want := before.NeedsReconnect(after), k.Reload == Replaces; got != want {
			t.Errorf("%s: reconnects %v, and a reload of it is %q", k.Path, got, k.Reload)
		}
	}
}

// write sets a key to its example.
func write(t *testing.T, k Key, s scope) {
	t.Helper()
	example := k.Example
	name, text, pair := strings.Cut(strings.Trim(example, "{}[]"), ": ")
	if !pair || k.Type.form != dict {
		name, text = "", strings.Trim(example, "{}[]")
	}
	if k.Type.form == list {
		text, _, _ = strings.Cut(text, ", ")
	}
	if m := k.Type.put(k.at(s), value{name: name, text: strings.Trim(text, `"`)}); m != nil {
		t.Fatalf("%s = %s: %s", k.Path, example, m.reason)
	}
}
