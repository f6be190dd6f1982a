package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// offer is a server whose items have only a name or a URI.
func offer(name string, items map[Kind][]string) Server {
	s := Server{Name: name}
	for k, names := range items {
		for _, n := range names {
			s.Items[k] = append(s.Items[k],
				jsontext.Value(fmt.Sprintf(`{"%s":%s}`, kinds[k].key, jsonedit.Quote(n))))
		}
	}
	return s
}

func names(l List) (names []string) {
	for _, item := range l.Items() {
		name, _ := jsonedit.GetString(item, kinds[l.kind].key)
		names = append(names, name)
	}
	return names
}

func TestExternalNames(t *testing.T) {
	for _, c := range []struct{ server, name, want string }{
		{"files", "read", "files__read"},
		{"a", "_b", "a___b"},
		{"a", "b__c", "a__b__c"},
		{"files", strings.Repeat("x", 57), "files__" + strings.Repeat("x", 57)}, // 64
		// 65: printf 'files\\0xxx…' | sha256sum
		{"files", strings.Repeat("x", 58), "files__" + strings.Repeat("x", 48) + "_0f6fde3a"},
		{"a", strings.Repeat("é", 61), "a__" + strings.Repeat("é", 61)}, // 64 characters
	} {
		got := External(c.server, c.name)
		if got != c.want {
			t.Errorf("External(%q, %q) = %q, want %q", c.server, c.name, got, c.want)
		}
	}
}

// S81: whatever a server calls its tools, a listed name leads back to the server and the same
// tool, and no name is listed twice.
func TestEveryListedNameLeadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var servers []Server
		word := rapid.StringMatching(`[a-c_]{1,4}|[a-z_é]{50,70}`)
		for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-c][a-c-]{0,31}`), 1, 4,
			rapid.ID).Draw(t, "servers") {
			servers = append(servers, offer(name, map[Kind][]string{
				Tools:   rapid.SliceOfN(word, 0, 6).Draw(t, "tools"),
				Prompts: rapid.SliceOfN(word, 0, 6).Draw(t, "prompts"),
				Resources: rapid.SliceOfN(rapid.StringMatching(`(x|mcpd)://[a-c]/?[a-c%]{0,2}`), 0, 6).Draw(t,
					"resources"),
			}))
		}
		c := New(servers)
		for k, method := range map[Kind]string{Tools: "tools/call", Prompts: "prompts/get",
			Resources: "resources/read"} {
			seen, i := map[string]bool{}, 0
			listed := names(c.List(k))
			for _, s := range servers {
				own := map[string]bool{}
				for _, item := range s.Items[k] {
					name, _ := jsonedit.GetString(item, kinds[k].key)
					if own[name] {
						continue
					}
					own[name] = true
					if i == len(listed) {
						t.Fatalf("%s of %s is not listed: %q, %v", name, s.Name, listed, c.Problems())
					}
					external := listed[i]
					i++
					if seen[external] {
						t.Fatalf("%q is listed twice", external)
					}
					seen[external] = true
					params := jsontext.Value(fmt.Sprintf(`{"%s":%s}`, kinds[k].key, jsonedit.Quote(external)))
					got, err := c.Route(method, params, nil)
					back, _ := jsonedit.GetString(got.Params, kinds[k].key)
					if err != nil || got.Server != s.Name || back != name {
						t.Fatalf("%q of %s is listed as %q, which leads to %q of %s, %v", name, s.Name, external,
							back, got.Server, err)
					}
				}
			}
		}
	})
}

// Items keep their bytes except for the name.
func TestItemsKeepTheirBytes(t *testing.T) {
	s := Server{Name: "a"}
	s.Items[Tools] = []jsontext.Value{
		jsontext.Value(`{ "x":12345678901234567890, "na\u006de" : "t" ,"y":{"name":"z"} }`),
	}
	got := string(New([]Server{s}).List(Tools).Items()[0])
	if want := `{ "x":12345678901234567890, "na\u006de" : "a__t" ,"y":{"name":"z"} }`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestOrderIsThatOfTheServers(t *testing.T) {
	c := New([]Server{
		offer("z", map[Kind][]string{Tools: {"2", "1"}}),
		offer("a", map[Kind][]string{Tools: {"3"}}),
	})
	if got := names(c.List(Tools)); !slices.Equal(got, []string{"z__2", "z__1", "a__3"}) {
		t.Errorf("the order is %q", got)
	}
}

// A URI that two servers have stays with the first. The URIs of the others are wrapped, and
// the wrapped form is accepted for all.
func TestClashingResources(t *testing.T) {
	c := New([]Server{
		offer("a", map[Kind][]string{
			Resources: {"file:///x", "a:1"}, Templates: {"file:///{p}", "db://{t}"},
		}),
		offer("b", map[Kind][]string{
			Resources: {"file:///x", "b:é"}, Templates: {"file:///{p}", "note:{+id}"},
		}),
		offer("c", map[Kind][]string{Resources: {"mcpd://a/file%3A%2F%2F%2Fx"}}),
	})
	if got, want := names(c.List(Resources)), []string{"file:///x", "a:1",
		"mcpd://b/file%3A%2F%2F%2Fx", "b:é",
		"mcpd://c/mcpd%3A%2F%2Fa%2Ffile%253A%252F%252F%252Fx"}; !slices.Equal(got, want) {
		t.Errorf("resources are %q, want %q", got, want)
	}
	if got, want := names(c.List(Templates)), []string{"file:///{p}", "db://{t}",
		"mcpd://b/file:///{p}", "note:{+id}"}; !slices.Equal(got, want) {
		t.Errorf("templates are %q, want %q", got, want)
	}
	for _, row := range []struct{ uri, server, own string }{
		{"file:///x", "a", "file:///x"},
		{"mcpd://b/file%3A%2F%2F%2Fx", "b", "file:///x"},
		// The URI leads to a, not to c, which listed exactly this URI.
		{"mcpd://a/file%3A%2F%2F%2Fx", "a", "file:///x"},
		{"mcpd://b/b%3A%C3%A9", "b", "b:é"},
		{"mcpd://c/mcpd%3A%2F%2Fa%2Ffile%253A%252F%252F%252Fx", "c", "mcpd://a/file%3A%2F%2F%2Fx"},
		{"mcpd://b/anything%3Aat-all", "b", "anything:at-all"},
		// The URI is an expansion of b's template, and is passed on as it is.
		{"mcpd://b/file:///a%2Fb", "b", "file:///a%2Fb"},
		// The first template that matches decides.
		{"file:///other", "a", "file:///other"},
		{"note:1/2", "b", "note:1/2"},
		{"db://t", "a", "db://t"},
		{"db://t/u", "", ""},
		{"mcpd://d/x%3A1", "", ""},
		{"mcpd://b/", "", ""},
		{"mcpd://b", "", ""},
		{"mcpd://", "", ""},
		{"mcpd://b/%zz", "", ""},
		{"unknown:x", "", ""},
		{"file:///" + strings.Repeat("x", MaxURI), "", ""},
	} {
		got, err := c.Route("resources/read",
			jsontext.Value(`{"uri":`+string(jsonedit.Quote(row.uri))+`}`), nil)
		own, _ := jsonedit.GetString(got.Params, "uri")
		if got.Server != row.server || own != row.own {
			t.Errorf("%.60q leads to %q of %q, %v, want %q of %q", row.uri, own, got.Server, err,
				row.own, row.server)
		}
		if row.server == "" && !errors.Is(err, protocol.ConditionResourceNotFound) {
			t.Errorf("%.60q: %v, want not found", row.uri, err)
		}
	}
}

func TestRequestsFindTheirServer(t *testing.T) {
	c := New([]Server{
		offer("a", map[Kind][]string{Tools: {"t"}, Templates: {"x://{id}"}}),
		offer("b", map[Kind][]string{Templates: {"x://{id}"}}),
	})
	for _, row := range []struct{ method, params, server, want string }{
		{"tools/call", `{"name":"a__t","arguments":{"name":"a__t"}}`, "a",
			`{"name":"t","arguments":{"name":"a__t"}}`},
		{"tools/call", `{"name":"b__hidden"}`, "b", `{"name":"hidden"}`},
		{"prompts/get", `{"arguments":{}, "name":"b__p" }`, "b", `{"arguments":{}, "name":"p" }`},
		{"resources/subscribe", `{"uri":"x://1"}`, "a", `{"uri":"x://1"}`},
		{"resources/unsubscribe", `{"uri":"mcpd://b/x%3A%2F%2F1"}`, "b", `{"uri":"x://1"}`},
		{
			"completion/complete",
			`{"ref":{"type":"ref/prompt","name":"b__p"},"argument":{"name":"n","value":""}}`, "b",
			`{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"n","value":""}}`,
		},
		{"completion/complete", `{"ref":{"type":"ref/resource","uri":"x://{id}"}}`, "a",
			`{"ref":{"type":"ref/resource","uri":"x://{id}"}}`},
		{"completion/complete", `{"ref":{"type":"ref/resource","uri":"mcpd://b/x://{id}"}}`, "b",
			`{"ref":{"type":"ref/resource","uri":"x://{id}"}}`},
		{"completion/complete", `{"ref":{"type":"ref/resource","uri":"x://7"}}`, "a",
			`{"ref":{"type":"ref/resource","uri":"x://7"}}`},
	} {
		if named := NamedServer(row.method, jsontext.Value(row.params)); named != "" &&
			named != row.server ||
			named == "" && strings.Contains(row.params, "__") {
			t.Errorf("%s %s names %q, want %s", row.method, row.params, named, row.server)
		}
		got, err := c.Route(row.method, jsontext.Value(row.params), nil)
		if err != nil || got.Server != row.server || string(got.Params) != row.want {
			t.Errorf("%s %s = %s %s, %v, want %s %s", row.method, row.params, got.Server, got.Params, err,
				row.server, row.want)
		}
	}
	for _, row := range []struct {
		method, params string
		want           protocol.Condition
	}{
		{"tools/call", `{"name":"t"}`, protocol.ConditionToolNotFound},
		{"tools/call", `{"name":"c__t"}`, protocol.ConditionToolNotFound},
		{"tools/call", `{"name":"a__"}`, protocol.ConditionToolNotFound},
		{"tools/call", `{"name":"__t"}`, protocol.ConditionToolNotFound},
		{"tools/call", `{"name":"A__t"}`, protocol.ConditionToolNotFound},
		{"tools/call", `{"name":7}`, protocol.ConditionInvalidParams},
		{"tools/call", `{}`, protocol.ConditionInvalidParams},
		{"tools/call", ``, protocol.ConditionInvalidParams},
		{"tools/call", `[]`, protocol.ConditionInvalidParams},
		{"prompts/get", `{"name":"p"}`, protocol.ConditionPromptNotFound},
		{"resources/read", `{"uri":"y:"}`, protocol.ConditionResourceNotFound},
		{"completion/complete", `{"ref":{"type":"ref/tool","name":"a__t"}}`,
			protocol.ConditionInvalidParams},
		{"completion/complete", `{"ref":{"type":"ref/prompt"}}`, protocol.ConditionInvalidParams},
		{"completion/complete", `{"ref":{"type":"ref/resource","uri":"y:"}}`,
			protocol.ConditionResourceNotFound},
	} {
		if got, err := c.Route(row.method, jsontext.Value(row.params), nil); !errors.Is(err, row.want) {
			t.Errorf("%s %s = %v, %v, want %v", row.method, row.params, got, err, row.want)
		}
	}
}

// A URI that some clients cannot parse is listed with its server's name. The original
// ClientURI is accepted too.
func TestURIsThatClientsCannotParse(t *testing.T) {
	c := New([]Server{
		offer("a", map[Kind][]string{
			Resources: {"rel/path", "a b", "x://h:port/y", "MCPD://b/x", "ok:a b"},
		}),
		offer("b", map[Kind][]string{Resources: {"rel/path"}}),
	})
	want := []string{
		"mcpd://a/rel%2Fpath", "mcpd://a/a%20b", "mcpd://a/x%3A%2F%2Fh%3Aport%2Fy",
		"mcpd://a/MCPD%3A%2F%2Fb%2Fx", "ok:a b", "mcpd://b/rel%2Fpath",
	}
	if got := names(c.List(Resources)); !slices.Equal(got, want) {
		t.Errorf("resources are %q, want %q", got, want)
	}
	for uri, want := range map[string]origin{"rel/path": {"a", "rel/path"},
		"mcpd://a/rel%2Fpath": {"a", "rel/path"}, "mcpd://b/rel%2Fpath": {"b", "rel/path"}} {
		if got, ok := c.locate(uri); !ok || got != want {
			t.Errorf("%s leads to %v, want %v", uri, got, want)
		}
	}
	if got := c.ClientURI("a", "rel/path"); got != "mcpd://a/rel%2Fpath" {
		t.Errorf("a link to it is told as %s", got)
	}
	odd := ItemIssues(Resources, true, []jsontext.Value{
		jsontext.Value(`{"uri":"rel/path","name":"x"}`), jsontext.Value(`{"uri":"ok:a","name":"x"}`),
	})
	if len(odd) != 1 || odd[0].Action != Repaired || odd[0].Count != 1 || odd[0].First != "rel/path" {
		t.Errorf("it counts as %+v", odd)
	}
}

// The URL parser of the Python SDK gives the same answer for each URI.
func TestParses(t *testing.T) {
	for uri, want := range map[string]bool{
		"a://ok": true, "a:": true, "a://": true, "urn:x": true, "file:///a b": true, "file://": true,
		"a+b.c-d://x": true, "http://é/": true, "a://%": true,
		"data:text/plain,hi": true, `C:\x\y`: true, "HTTP://X": true, "http://u:p@[::1]:80/x": true,
		"http://1.2.3.4?x": true, "a://b:/": true, "test:///x": true,
		"rel/path": false, "": false, "%zz": false, "a b c": false, "/etc/passwd": false, "//x": false,
		"#x": false, "1a://x": false, "é://x": false,
		"http://": false, "http:": false, "http://a b/": false, "http://a:99999/": false,
		"a://b c": false, "a://[": false, "http://[::bad": false,
		"http://exa%mple/": false, "a://h:port/": false, "a://user@:1/": false, "note://a|b": false,
		"a://b:70000/c": false, `a://b\c`: false, "http://1.2.3.400/": false,
	} {
		if got := clientsParse(uri); got != want {
			t.Errorf("%q: %t", uri, got)
		}
	}
}

// A URI that a server mentions reaches the client in a form that leads back to the resource.
func TestURIsOutward(t *testing.T) {
	c := New([]Server{
		offer("a", map[Kind][]string{Resources: {"file:///x"}, Templates: {"db://{t}"}}),
		offer("b", map[Kind][]string{Resources: {"file:///x", "b:1"}}),
	})
	for _, row := range []struct{ server, uri, want string }{
		{"a", "file:///x", "file:///x"},
		{"b", "file:///x", "mcpd://b/file%3A%2F%2F%2Fx"},
		{"b", "b:1", "b:1"},
		{"a", "b:1", "mcpd://a/b%3A1"},
		{"a", "db://t", "db://t"},
		{"b", "db://t", "mcpd://b/db%3A%2F%2Ft"},
		{"b", "new:1", "mcpd://b/new%3A1"},
		{"b", "https://example.com/", "https://example.com/"},
		{"b", "mcpd://a/file%3A%2F%2F%2Fx", "mcpd://b/mcpd%3A%2F%2Fa%2Ffile%253A%252F%252F%252Fx"},
	} {
		got := c.ClientURI(row.server, row.uri)
		if got != row.want {
			t.Errorf("%s of %s is told as %s, want %s", row.uri, row.server, got, row.want)
		}
		if back, ok := c.locate(got); !isWebURL(got) && (!ok || back != origin{row.server, row.uri}) {
			t.Errorf("%s leads to %v", got, back)
		}
	}
	for _, row := range []struct{ method, in, want string }{
		{
			"tools/call",
			`{"content":[{"type":"text","text":"file:///x"},{"uri":"file:///x","type":"resource_link"}]}`,
			`{"content":[{"type":"text","text":"file:///x"},{"uri":"mcpd://b/file%3A%2F%2F%2Fx","type":"resource_link"}]}`,
		},
		{"tools/call", `{"content":[{"type":"resource","resource":{"uri":"file:///x"}}]}`,
			`{"content":[{"type":"resource","resource":{"uri":"mcpd://b/file%3A%2F%2F%2Fx"}}]}`},
		{
			"prompts/get",
			`{"messages":[{"role":"user","content":{"type":"resource_link","uri":"file:///x"}}]}`,
			`{"messages":[{"role":"user","content":{"type":"resource_link","uri":"mcpd://b/file%3A%2F%2F%2Fx"}}]}`,
		},
		{"resources/read", `{"contents":[{"uri":"file:///x","text":"x"},{"uri":7}]}`,
			`{"contents":[{"uri":"mcpd://b/file%3A%2F%2F%2Fx","text":"x"},{"uri":7}]}`},
		{"tools/list", `{"uri":"file:///x"}`, `{"uri":"file:///x"}`},
		{"tools/call", `{"content":"resource_link"}`, `{"content":"resource_link"}`},
		{"resources/read", `null`, `null`},
	} {
		if got := string(c.Result(AnswerContext{Server: "b", Method: row.method},
			jsontext.Value(row.in))); got != row.want {
			t.Errorf("%s %s = %s, want %s", row.method, row.in, got, row.want)
		}
	}
	for _, row := range []struct{ method, in, want string }{
		{"resources/read", `{"uri":"file:///x","n":1}`, `{"uri":"mcpd://b/file%3A%2F%2F%2Fx","n":1}`},
		{"resources/subscribe", `{"uri":"file:///x"}`, `{"uri":"mcpd://b/file%3A%2F%2F%2Fx"}`},
		{"resources/read", `"file:///x"`, `"file:///x"`},
		{"tools/call", `{"uri":"file:///x"}`, `{"uri":"file:///x"}`},
		{"tools/list", `{"uri":"file:///x"}`, `{"uri":"file:///x"}`},
	} {
		if got := string(c.Error(AnswerContext{Server: "b", Method: row.method},
			jsontext.Value(row.in))); got != row.want {
			t.Errorf("an error of %s with %s is told as %s, want %s", row.method, row.in, got, row.want)
		}
	}
}

// S81: an item that cannot be listed under a name of its own is reported, and hides no other
// item.
func TestWhatIsLeftOutIsReported(t *testing.T) {
	long := strings.Repeat("x", 70)
	s := Server{Name: "a"}
	s.Items[Tools] = []jsontext.Value{
		jsontext.Value(`{"name":"t","v":1}`), jsontext.Value(`{"name":"t","v":2}`),
		jsontext.Value(`{"name":""}`), jsontext.Value(`{"title":"x"}`),
		jsontext.Value(`{"name":7}`), jsontext.Value(`[]`), jsontext.Value(`{"name":"d","name":"e"}`),
		jsontext.Value(`{"name":"` + strings.Repeat("n", MaxName+1) + `"}`),
		jsontext.Value(`{"name":"big","x":"` + strings.Repeat("n", MaxItem) + `"}`),
		jsontext.Value(`{"name":"` + long + `"}`),
		jsontext.Value(`{"name":"` + External("a", long)[len("a__"):] + `"}`),
	}
	s.Items[Templates] = []jsontext.Value{jsontext.Value(`{"uriTemplate":"x://{"}`)}
	s.Items[Prompts] = []jsontext.Value{jsontext.Value(`{"name":"p"}`)}
	c := New([]Server{s})
	if got := names(c.List(Tools)); !slices.Equal(got,
		[]string{"a__t", External("a", ""), External("a", long)}) {
		t.Errorf("listed are %q", got)
	}
	if got := len(c.List(Templates).Items()); got != 1 || len(c.Problems()) != 9 {
		t.Errorf("%d templates are listed, and reported are %v", got, c.Problems())
	}
	if got, want := c.Problems()[0].String(),
		`tools of server a: the server lists it twice "t"`; got != want {
		t.Errorf("the first report is %s, want %s", got, want)
	}

	many := Server{Name: "a"}
	for i := range MaxItems + 1 {
		many.Items[Resources] = append(many.Items[Resources],
			jsontext.Value(fmt.Sprintf(`{"uri":"x:%d"}`, i)))
		many.Items[Templates] = append(many.Items[Templates],
			jsontext.Value(fmt.Sprintf(`{"uriTemplate":"t%d:{x}"}`, i)))
	}
	c = New([]Server{many})
	if got := len(c.List(Resources).Items()); got != MaxItems {
		t.Errorf("%d resources are listed, want %d", got, MaxItems)
	}
	_, last := c.locate(fmt.Sprintf("t%d:1", MaxMatched-1))
	_, over := c.locate(fmt.Sprintf("t%d:1", MaxMatched))
	if !last || over {
		t.Errorf("template %d is tried %v, the next %v", MaxMatched, last, over)
	}
}

func TestKindsAreTheProtocols(t *testing.T) {
	for _, k := range Kinds() {
		for _, method := range []string{k.Method(), k.Changed()} {
			if _, ok := protocol.LookupMethod(method); !ok {
				t.Errorf("%s is no method", method)
			}
		}
		if !slices.Contains(ChangedKinds(k.Changed()), k) {
			t.Errorf("%s does not touch %v", k.Changed(), k)
		}
	}
	if len(ChangedKinds("notifications/resources/list_changed")) != 2 ||
		ChangedKinds("notifications/message") != nil {
		t.Error("notifications touch the wrong lists")
	}
}
