package catalog

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// The external names of tools are such that the interfaces of models accept them, whatever the
// server calls the tools.
func TestToolNamesFit(t *testing.T) {
	fits := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	long := strings.Repeat("é.", 40)
	names := []string{
		"plain", "get.weather", "a/b", "a.b", "a b", "a_b", "", "日本", "中文", "x" + long, "ends.", "ends_",
		strings.Repeat("n", 80),
	}
	want := map[string]string{
		"plain": "s__plain", "get.weather": "s__get_weather", "a_b": "s__a_b", "ends_": "s__ends_",
	}
	listed := func(names []string, others ...Server) map[string]string {
		c, own := New(append(others, offer("s", map[Kind][]string{Tools: names}))), map[string]string{}
		for _, item := range c.List(Tools).Items() {
			external, _ := jsonedit.GetString(item, "name")
			if !strings.HasPrefix(external, "s__") {
				continue
			}
			to, err := c.Route("tools/call", jsontext.Value(fmt.Sprintf(`{"name":%q}`, external)), nil)
			name, _ := jsonedit.GetString(to.Params, "name")
			if err != nil || to.Server != "s" || !fits.MatchString(external) {
				t.Errorf("%q leads to %s of %s, %v", external, name, to.Server, err)
			}
			own[name] = external
		}
		return own
	}
	first := listed(names)
	if len(first) != len(names) {
		t.Errorf("%d of %d tools are listed", len(first), len(names))
	}
	seen := map[string]bool{}
	for name, external := range first {
		if seen[external] {
			t.Errorf("%s is the name of two tools", external)
		}
		seen[external] = true
		if w, ok := want[name]; ok && external != w {
			t.Errorf("%s is listed as %s, want %s", name, external, w)
		}
	}
	backwards := slices.Clone(names)
	slices.Reverse(backwards)
	for _, again := range []map[string]string{
		listed(backwards),
		listed(names, offer("s-2", map[Kind][]string{Tools: names}), offer("r", map[Kind][]string{
			Tools: {"a_b"},
		})),
	} {
		if !maps.Equal(first, again) {
			t.Errorf("the names are %v, and otherwise %v", first, again)
		}
	}
}

// The names of prompts are shown to users, and keep their letters.
func TestPromptNamesStay(t *testing.T) {
	c := New([]Server{offer("s", map[Kind][]string{Prompts: {"à la carte", "a.b"}})})
	if got := names(c.List(Prompts)); !slices.Equal(got, []string{"s__à la carte", "s__a.b"}) {
		t.Errorf("the prompts are %q", got)
	}
}

// The order of the configuration decides which server owns a URI. A server behind one that
// has not listed yet owns no URI, so that no URI changes its owner when the earlier
// server lists the same.
func TestOwnersDoNotChangeWhileServersStart(t *testing.T) {
	slow := Server{Name: "slow", Pending: true}
	up := offer("slow", map[Kind][]string{Resources: {"x:1"}, Templates: {"t:{id}"}})
	fast := offer("fast", map[Kind][]string{
		Resources: {"x:1", "y:1"}, Templates: {"t:{id}", "u:{id}"},
	})
	head := offer("head", map[Kind][]string{Resources: {"h:1"}, Templates: {"v:{id}"}})
	leads := func(c *Catalog, uri string) string {
		to, err := c.Route("resources/read", jsontext.Value(fmt.Sprintf(`{"uri":%q}`, uri)), nil)
		if err != nil {
			return err.Error()
		}
		return to.Server
	}
	before, after := New([]Server{head, slow, fast}), New([]Server{head, up, fast})
	if got, want := names(before.List(Resources)), []string{"h:1", "mcpd://fast/x%3A1",
		"mcpd://fast/y%3A1"}; !slices.Equal(got, want) {
		t.Errorf("listed are %q, want %q", got, want)
	}
	if got, want := names(before.List(Templates)), []string{"v:{id}", "mcpd://fast/t:{id}",
		"mcpd://fast/u:{id}"}; !slices.Equal(got, want) {
		t.Errorf("listed are %q, want %q", got, want)
	}
	if got, want := names(after.List(Resources)), []string{"h:1", "x:1", "mcpd://fast/x%3A1",
		"y:1"}; !slices.Equal(got, want) {
		t.Errorf("listed are %q, want %q", got, want)
	}
	for _, uri := range names(before.List(Resources)) {
		if then, now := leads(before, uri), leads(after, uri); then != now {
			t.Errorf("%s was of %s and is of %s", uri, then, now)
		}
	}
	for _, uri := range []string{"x:1", "y:1", "t:7", "u:7"} {
		if reason := leads(before, uri); !strings.Contains(reason, "server slow") {
			t.Errorf("%s leads to %s while slow may have it", uri, reason)
		}
	}
	if got := before.ClientURI("fast", "y:1"); got != "mcpd://fast/y%3A1" {
		t.Errorf("a link to y:1 is %s", got)
	}
}

// Pages keep their scheme, and the page of each tool leads to its own server, whether the page is
// listed or not.
func TestPagesLeadToTheirServer(t *testing.T) {
	show := func(name string, listed bool) Server {
		s := Server{Name: name}
		s.Items[Tools] = []jsontext.Value{
			jsontext.Value(`{"name":"show","_meta":{"ui":{"resourceUri":"ui://w/main.html","visibility":["app"]},"ui/resourceUri":"ui://w/main.html","openai/outputTemplate":"ui://w/main.html","x":"ui://w/main.html"}}`),
		}
		if listed {
			s.Items[Resources] = []jsontext.Value{
				jsontext.Value(`{"uri":"ui://w/main.html"}`),
				jsontext.Value(`{"uri":"ui://mcpd/one/w/main.html"}`),
			}
			s.Items[Templates] = []jsontext.Value{jsontext.Value(`{"uriTemplate":"ui://w/{id}"}`)}
		}
		return s
	}
	for _, listed := range []bool{true, false} {
		c := New([]Server{show("one", listed), show("two", listed)})
		for i, item := range c.List(Tools).Items() {
			server := []string{"one", "two"}[i]
			want := "ui://mcpd/" + server + "/w/main.html"
			for _, path := range [][]string{{"ui", "resourceUri"}, {"ui/resourceUri"},
				{"openai/outputTemplate"}} {
				uri, _ := jsonedit.GetString(item, append([]string{"_meta"}, path...)...)
				to, err := c.Route("resources/read", jsontext.Value(fmt.Sprintf(`{"uri":%q}`, uri)), nil)
				own, _ := jsonedit.GetString(to.Params, "uri")
				if uri != want || err != nil || to.Server != server || own != "ui://w/main.html" {
					t.Errorf("%v of %s is %s, which leads to %s of %s, %v", path, server, uri, own, to.Server, err)
				}
			}
			if x, _ := jsonedit.GetString(item, "_meta", "x"); x != "ui://w/main.html" {
				t.Errorf("x is %s", x)
			}
		}
		if !listed {
			continue
		}
		if got, want := names(c.List(Resources)), []string{"ui://mcpd/one/w/main.html",
			"ui://mcpd/one/mcpd/one/w/main.html", "ui://mcpd/two/w/main.html",
			"ui://mcpd/two/mcpd/one/w/main.html"}; !slices.Equal(got, want) {
			t.Errorf("listed are %q, want %q", got, want)
		}
		if got, want := names(c.List(Templates)), []string{"ui://mcpd/one/w/{id}",
			"ui://mcpd/two/w/{id}"}; !slices.Equal(got, want) {
			t.Errorf("templates are %q, want %q", got, want)
		}
		for uri, want := range map[string]string{"ui://w/main.html": "one", "ui://w/7": "one",
			"ui://mcpd/two/w/7": "two", "ui://mcpd/three/w/7": ""} {
			if to, _ := c.Route("resources/read", jsontext.Value(fmt.Sprintf(`{"uri":%q}`, uri)),
				nil); to.Server != want {
				t.Errorf("%s leads to %q, want %q", uri, to.Server, want)
			}
		}
	}
}

// Every URI that a server mentions, wherever the protocol allows one, reaches the client in a
// form that leads back to the server.
func TestEveryURIOutward(t *testing.T) {
	c := New([]Server{
		offer("a", map[Kind][]string{Resources: {"x:1"}}),
		offer("b", map[Kind][]string{Resources: {"x:1", "b:1"}}),
	})
	const wrapped = "mcpd://b/x%3A1"
	embedded := func(uri string) string {
		return `{"type":"resource","resource":{"uri":"` + uri + `","text":"x:1"}}`
	}
	for _, row := range []struct{ method, in, want string }{
		{"tools/call", `{"content":[` + embedded("x:1") + `]}`,
			`{"content":[` + embedded(wrapped) + `]}`},
		{"tools/call", `{"content":[` + embedded("b:1") + `]}`, `{"content":[` + embedded("b:1") + `]}`},
		{"tools/call", `{"content":[` + embedded("data:text/plain,x") + `]}`,
			`{"content":[` + embedded("data:text/plain,x") + `]}`},
		{"tools/call", `{"content":[` + embedded("cid:1@audio") + `]}`,
			`{"content":[` + embedded("cid:1@audio") + `]}`},
		{"tools/call", `{"content":[{"type":"resource","resource":{"\u0075ri":"x:1"}}]}`,
			`{"content":[{"type":"resource","resource":{"\u0075ri":"` + wrapped + `"}}]}`},
		{"tools/call", `{"structuredContent":{"uri":"x:1"},"content":[{"type":"text","text":"x:1"}]}`,
			`{"structuredContent":{"uri":"x:1"},"content":[{"type":"text","text":"x:1"}]}`},
		{"tools/call", `{"_meta":{"ui":{"resourceUri":"ui://p"}},"content":[]}`,
			`{"_meta":{"ui":{"resourceUri":"ui://mcpd/b/p"}},"content":[]}`},
		{"tasks/result", `{"content":[` + embedded("x:1") + `]}`,
			`{"content":[` + embedded(wrapped) + `]}`},
		{"tasks/get", `{"status":"completed","result":{"content":[` + embedded("x:1") + `]}}`,
			`{"status":"completed","result":{"content":[` + embedded(wrapped) + `]}}`},
		{"prompts/get", `{"messages":[{"role":"user","content":` + embedded("x:1") + `}]}`,
			`{"messages":[{"role":"user","content":` + embedded(wrapped) + `}]}`},
		{"prompts/get", `{"messages":[{"role":"user","content":[` + embedded("x:1") + `]}]}`,
			`{"messages":[{"role":"user","content":[` + embedded(wrapped) + `]}]}`},
		{"resources/read", `{"contents":[{"uri":"x:1"},{"uri":"b:1"}]}`,
			`{"contents":[{"uri":"` + wrapped + `"},{"uri":"b:1"}]}`},
		{"tools/call", `{"resultType":"input_required","inputRequests":{"k":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"tool_result","content":[` + embedded("x:1") + `]}}]}}}}`,
			`{"resultType":"input_required","inputRequests":{"k":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"tool_result","content":[` + embedded(wrapped) + `]}}]}}}}`},
	} {
		if got := string(c.Result(AnswerContext{Server: "b", Method: row.method},
			jsontext.Value(row.in))); got != row.want {
			t.Errorf("%s %s = %s, want %s", row.method, row.in, got, row.want)
		}
	}
	asked := AnswerContext{
		Server: "b", Method: "resources/read", ClientURI: "mcpd://b/b%3A1", ServerURI: "b:1",
	}
	if got := string(c.Result(asked,
		jsontext.Value(`{"contents":[{"uri":"b:1"},{"uri":"x:1"}]}`))); got !=
		`{"contents":[{"uri":"mcpd://b/b%3A1"},{"uri":"`+wrapped+`"}]}` {
		t.Errorf("what was asked for is told as %s", got)
	}
	const question = `{"messages":[{"role":"user","content":{"type":"tool_result","content":[{"type":"resource_link","uri":"x:1"}]}}]}`
	if got := string(c.Question("b", "sampling/createMessage",
		jsontext.Value(question))); got != strings.Replace(question, "x:1", wrapped, 1) {
		t.Errorf("the question is told as %s", got)
	}
}

// A URI that leads nowhere by itself finds the server that gave it to this principal. Of
// several servers the first in the order of the configuration is chosen. The number of remembered
// URIs is bounded and counted.
func TestReferencesLeadBack(t *testing.T) {
	c := New([]Server{
		offer("a", map[Kind][]string{Resources: {"a:1"}}),
		offer("b", map[Kind][]string{Templates: {"t:{id}"}}),
	})
	kept, room := 0, true
	refs := NewReferences(func(int) bool { return room }, func(n int) { kept += n })
	give := func(server, principal string, uris ...string) {
		for _, uri := range uris {
			c.Result(AnswerContext{Server: server, Method: "tools/call", OnURI: func(uri string) {
				refs.Add(principal, server, uri)
			}},
				jsontext.Value(fmt.Sprintf(`{"content":[{"type":"resource_link","uri":%q}]}`, uri)))
		}
	}
	leads := func(principal, uri string) string {
		to, _ := c.Route("resources/read", jsontext.Value(fmt.Sprintf(`{"uri":%q}`, uri)),
			func(uri string, order []string) (string, bool) {
				return refs.ServerOf(principal, uri, order)
			})
		return to.Server
	}
	give("b", "ci", "https://example.com/", "skill://x/SKILL.md", "both:1", "a:1", "t:1", "data:,x")
	give("a", "ci", "both:1")
	for _, row := range []struct{ principal, uri, want string }{
		{"ci", "https://example.com/", "b"}, {"ci", "skill://x/SKILL.md", "b"}, {"ci", "both:1", "a"},
		{"ci", "a:1", "a"}, {"ci", "t:1", "b"},
		{"ci", "data:,x", ""}, {"ci", "skill://y", ""}, {"else", "skill://x/SKILL.md", ""},
	} {
		if got := leads(row.principal, row.uri); got != row.want {
			t.Errorf("%s of %s leads to %q, want %q", row.uri, row.principal, got, row.want)
		}
	}
	if want := 4*64 + len("https://example.com/"+"skill://x/SKILL.md"+"both:1"+
		"both:1"); kept != want {
		t.Errorf("%d bytes are kept, want %d", kept, want)
	}
	for i := range MaxReferences {
		refs.Add("ci", "b", fmt.Sprintf("n:%d", i))
	}
	if leads("ci", "skill://x/SKILL.md") != "" || leads("ci", "n:0") != "b" {
		t.Error("not the oldest is forgotten")
	}
	for i := range 100 {
		refs.Add("ci", "b", fmt.Sprintf("long:%d/%s", i, strings.Repeat("x", MaxURI-20)))
	}
	if kept > MaxReferenceBytes {
		t.Errorf("%d bytes are kept", kept)
	}
	room = false
	refs.Add("else", "b", "no:room")
	if leads("else", "no:room") != "" {
		t.Error("it is remembered without room")
	}
	if refs.Clear(); kept != 0 {
		t.Errorf("%d bytes are left", kept)
	}
}
