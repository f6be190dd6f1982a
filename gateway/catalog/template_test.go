package catalog

import (
	"strings"
	"testing"
	"time"

	"github.com/yosida95/uritemplate/v3"
	"pgregory.net/rapid"
)

func TestTemplatesMatch(t *testing.T) {
	for _, c := range []struct {
		template string
		yes, no  string // separated by spaces
	}{
		{"file:///{path}", "file:///a file:///a.b file:/// file:///a%2Fb",
			"file:///a/b file:// xfile:///a file:///a?b"},
		{"file:///{+path}", "file:///a file:///a/b file:///a?b#c", "file://a"},
		{"a:{x}-{y}", "a:1-2 a:- a:1-2-3", "a:1"},
		{"a:{x}/b", "a:1/b a:/b", "a:1/2/b a:1/bb a:1/b/"},
		{"a:x{/p}", "a:x a:x/ a:x/1", "a:xx a:x?"},
		{"a:x{/p*}/end", "a:x/end a:x/1/2/end", "a:x/1/2 a:xend"},
		{"a:x{?q,r}", "a:x a:x? a:x?q=1&r=/", "a:xq a:x?q#f"},
		{"a:x?z{&q}", "a:x?z a:x?z&q=1", "a:x?zq=1"},
		{"a:x{#f}", "a:x a:x#f/g", "a:xf"},
		{"a:x{.e}", "a:x a:x.y a:x.y.z", "a:xy a:x.y/z"},
		{"a:x{;p}", "a:x a:x;p=1", "a:xp"},
		{"{+all}", "a:b x", ""},
		{"plain:x", "plain:x", "plain:xx plain: "},
	} {
		compiled, err := compile(c.template)
		if err != nil {
			t.Errorf("%s: %v", c.template, err)
			continue
		}
		for _, uri := range strings.Fields(c.yes) {
			if !compiled.matches(uri) {
				t.Errorf("%s does not match %s", c.template, uri)
			}
		}
		for _, uri := range strings.Fields(c.no) {
			if compiled.matches(uri) {
				t.Errorf("%s matches %s", c.template, uri)
			}
		}
	}
	for _, bad := range []string{"{", "}", "a{}", "a{b", "a{{b}}", "a}b{c}",
		strings.Repeat("{a}", maxVariables+1), strings.Repeat("a", maxTemplate+1)} {
		if _, err := compile(bad); err == nil {
			t.Errorf("%.20q is a template", bad)
		}
	}
}

// Every RFC 6570 expansion of a template matches the template.
func TestExpansionsMatchTheirTemplate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(
			`[a-z]{1,3}:(/?([a-z.~-]{0,3}|\{[+#./;?&]?[xyz](,[xyz])?\*?\})){0,5}`,
		).Draw(t, "template")
		parsed, err := uritemplate.New(text)
		if err != nil {
			t.Skip(err)
		}
		compiled, err := compile(text)
		if err != nil {
			t.Fatal(err)
		}
		vars := uritemplate.Values{}
		for _, name := range []string{"x", "y", "z"} {
			if rapid.Bool().Draw(t, "has "+name) {
				vars.Set(name, uritemplate.String(rapid.StringMatching(`[a-z/?&=#%é .;,]{0,6}`).Draw(t, name)))
			}
		}
		uri, err := parsed.Expand(vars)
		if err != nil {
			t.Skip(err)
		}
		if !compiled.matches(uri) {
			t.Fatalf("%s does not match its expansion %s", text, uri)
		}
	})
}

// S36: no template makes matching slow. The bound is far above the measured time, and far below
// the time that backtracking would take.
func TestMatchingIsLinear(t *testing.T) {
	uri := "x:" + strings.Repeat("a", maxMatched-3) + "!"
	for _, text := range []string{
		"x:" + strings.Repeat("{a}", maxVariables),
		"x:" + strings.Repeat("{+a}", maxVariables) + "b",
		"x:" + strings.Repeat("{/a*}", maxVariables),
		"x:" + strings.Repeat("{a}a", maxVariables) + strings.Repeat("a", 100) + "b",
		"x:{+a}" + strings.Repeat("a", maxTemplate-20) + "b",
	} {
		compiled, err := compile(text)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		compiled.matches(uri)
		// A matcher that is not linear would take years.
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("%.30s takes %v", text, took)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add("file:///{path}", "file:///a")
	f.Add("a{/x*}{?q}", "a/b/c?d")
	f.Add(strings.Repeat("{a}", 16), strings.Repeat("a", 100))
	f.Fuzz(func(t *testing.T, text, uri string) {
		compiled, err := compile(text)
		if err != nil {
			return
		}
		begin := time.Now()
		got := compiled.matches(uri)
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("%q on %q takes %v", text, uri, took)
		}
		if got && !strings.Contains(text, "{") && text != uri {
			t.Errorf("%q matches %q", text, uri)
		}
	})
}

func FuzzURIsSurviveWrapping(f *testing.F) {
	f.Add("a", "file:///x")
	f.Add("a", "mcpd://b/%2F")
	f.Fuzz(func(t *testing.T, server, uri string) {
		if server == "" || strings.Contains(server, "/") || uri == "" {
			return
		}
		gotServer, gotURI, ok := unwrap(Wrap(server, uri))
		if !ok || gotServer != server || gotURI != uri {
			t.Errorf("%q of %q becomes %q of %q", uri, server, gotURI, gotServer)
		}
	})
}

func BenchmarkSlowestTemplate(b *testing.B) {
	compiled, _ := compile("x:" + strings.Repeat("{+a}", maxVariables) + "b")
	uri := "x:" + strings.Repeat("a", maxMatched-2)
	for b.Loop() {
		compiled.matches(uri)
	}
}
