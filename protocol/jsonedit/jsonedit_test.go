package jsonedit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

const tool = ` { "name" : "add",  "n": 12345678901234567890.10 ,"list":[ 1 , {"a":2} ,"x]}" ], "_meta": {"a\/b":1, "c":null} } `

// Set restores the member that Elide removed.
func TestElide(t *testing.T) {
	for _, c := range []struct{ raw, short, long string }{
		{`{"name":"t","arguments":{"a":[1,2]},"x":1}`, `{"name":"t","arguments":{},"x":1}`,
			`{"a":[1,2]}`},
		{`{"arguments" : {"a":[1,2]} }`, `{"arguments" : {} }`, `{"a":[1,2]}`},
		{`{"arguments":{"a":1}}`, `{"arguments":{"a":1}}`, ``}, // too short to elide
		{`{"arguments":"aaaaaaaaaaaaaaaaaa"}`, `{"arguments":"aaaaaaaaaaaaaaaaaa"}`, ``},
		{`{"x":{"arguments":{"a":[1,2]}}}`, `{"x":{"arguments":{"a":[1,2]}}}`, ``},
		{`["arguments",{"a":[1,2]}]`, `["arguments",{"a":[1,2]}]`, ``},
		{`{"arguments":{"a":[1,2`, `{"arguments":{"a":[1,2`, ``},
		{``, ``, ``},
	} {
		short, long := jsonedit.Elide(jsontext.Value(c.raw), "arguments", len(`{"a":[1,2]}`))
		if string(short) != c.short || string(long) != c.long || (long == nil) != (c.long == "") {
			t.Errorf("%s: got %s and %s, want %s and %s", c.raw, short, long, c.short, c.long)
		}
		if long == nil {
			continue
		}
		if back, err := jsonedit.Set(short, long, "arguments"); err != nil || string(back) != c.raw {
			t.Errorf("%s comes back as %s, %v", c.raw, back, err)
		}
	}
}

func raw(s string) jsontext.Value { return jsontext.Value(s) }

func TestGet(t *testing.T) {
	for _, tc := range []struct {
		path string
		want string
	}{
		{"", strings.TrimSpace(tool)},
		{"name", `"add"`},
		{"n", `12345678901234567890.10`},
		{"list", `[ 1 , {"a":2} ,"x]}" ]`},
		{"list 0", `1`},
		{"list 1 a", `2`},
		{"list 2", `"x]}"`},
		{"list 3", ``},
		{"list -1", ``},
		{"list a", ``},
		{"_meta a/b", `1`},
		{"_meta c", `null`},
		{"_meta d", ``},
		{"name x", ``},
		{"none", ``},
	} {
		got, ok := jsonedit.Get(raw(tool), strings.Fields(tc.path)...)
		if string(got) != tc.want || ok != (tc.want != "") {
			t.Errorf("%q: got %s, %v; want %s", tc.path, got, ok, tc.want)
		}
	}
}

func TestStrings(t *testing.T) {
	in := raw(`{"a":"x\ny","b":1,"c":"plain","\u0065\/":"escaped name"}`)
	for path, want := range map[string]string{"a": "x\ny", "c": "plain", "b": "", "d": "",
		"e/": "escaped name"} {
		if got, ok := jsonedit.GetString(in, path); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v", path, got, ok)
		}
	}
	if got := string(jsonedit.Quote("a\"\xff")); got != "\"a\\\"\ufffd\"" {
		t.Errorf("got %s", got)
	}
	if _, ok := jsonedit.Unquote(raw(`"\q"`)); ok {
		t.Error("a broken escape was read")
	}
}

func TestSet(t *testing.T) {
	for _, tc := range []struct{ in, path, value, want string }{
		{`{"a":1}`, "a", `[2]`, `{"a":[2]}`},
		{`{ "a" : 1 , "b" : 2 }`, "a", `9`, `{ "a" : 9 , "b" : 2 }`},
		{`{ "a" : 1 , "b" : 2 }`, "c", `9`, `{ "a" : 1 , "b" : 2,"c":9 }`},
		{`{}`, "a", `1`, `{"a":1}`},
		{` { } `, "a", `1`, ` {"a":1 } `},
		{``, "a b", `1`, `{"a":{"b":1}}`},
		{`{"a":{}}`, "a b c", `1`, `{"a":{"b":{"c":1}}}`},
		{`{"a":[1,{"b":2}]}`, "a 1 b", `3`, `{"a":[1,{"b":3}]}`},
		{`{"a":[1,2]}`, "a 1", `3`, `{"a":[1,3]}`},
		{`{"\u0061":1}`, "a", `2`, `{"\u0061":2}`},
		{`{"n":12345678901234567890}`, `q"`, `1`, `{"n":12345678901234567890,"q\"":1}`},
		{`{"a":1}`, "", `5`, `5`},
	} {
		in := raw(tc.in)
		got, err := jsonedit.Set(in, raw(tc.value), strings.Fields(tc.path)...)
		if err != nil || string(got) != tc.want {
			t.Errorf("%s at %q: got %s, %v; want %s", tc.in, tc.path, got, err, tc.want)
		}
		if string(in) != tc.in {
			t.Errorf("the input changed from %s to %s", tc.in, in)
		}
	}
}

// SetString equals Set of the quoted text, and allocates once.
func TestSetString(t *testing.T) {
	for in, path := range map[string]string{
		`{"a":1}`: "a", `{ "a" : "x" , "b":2}`: "a", `{"b":[1,{"c":"x"}]}`: "b 1 c", `{}`: "a", ``: "a b",
		`{"a":"x"`: "a", `{"a":"x`: "a", `{"a":2}`: "a b", `[]`: "x", `1`: "",
	} {
		for _, text := range []string{"", "plain", "\"\n\u2028é\\", "\xff"} {
			got, err := jsonedit.SetString(raw(in), text, strings.Fields(path)...)
			want, wrong := jsonedit.Set(raw(in), jsonedit.Quote(text), strings.Fields(path)...)
			if string(got) != string(want) || (err == nil) != (wrong == nil) {
				t.Errorf("%s at %q: got %s, %v; want %s, %v", in, path, got, err, want, wrong)
			}
		}
	}
	in := raw(`{"name":"files__read","arguments":{}}`)
	if n := testing.AllocsPerRun(100, func() {
		_, _ = jsonedit.SetString(in, "read", "name")
	}); n > 1 {
		t.Errorf("%v objects", n)
	}
}

func TestSetFindsNoPlace(t *testing.T) {
	for in, path := range map[string]string{
		`{"a":1}`:   "a b",
		`{"a":[1]}`: "a 1",
		`[]`:        "x",
		`1`:         "a",
		`{"a":1`:    "b",
	} {
		if got, err := jsonedit.Set(raw(in), raw(`0`), strings.Fields(path)...); err == nil {
			t.Errorf("%s at %q: got %s, want an error", in, path, got)
		}
	}
}

func TestDelete(t *testing.T) {
	for _, tc := range []struct{ in, path, want string }{
		{`{"a":1}`, "a", `{}`},
		{`{ "a" : 1 }`, "a", `{}`},
		{`{ "a":1, "b":2, "c":3 }`, "a", `{ "b":2, "c":3 }`},
		{`{ "a":1, "b":2, "c":3 }`, "b", `{ "a":1, "c":3 }`},
		{`{ "a":1, "b":2, "c":3 }`, "c", `{ "a":1, "b":2}`},
		{`[1,[2,3]]`, "1 0", `[1,[3]]`},
		{`{"a":{"b":1}}`, "a b", `{"a":{}}`},
		{`{"a":1}`, "b", `{"a":1}`},
		{`{"a":1}`, "", `{"a":1}`},
	} {
		got, ok := jsonedit.Delete(raw(tc.in), strings.Fields(tc.path)...)
		if string(got) != tc.want || ok != (tc.in != tc.want) {
			t.Errorf("%s at %q: got %s, %v; want %s", tc.in, tc.path, got, ok, tc.want)
		}
	}
}

func TestIterate(t *testing.T) {
	var names []string
	for m := range jsonedit.Members(raw(tool)) {
		names = append(names, m.Key()+"="+string(m.Value.Kind().String()))
		if m.Is("list") {
			break
		}
	}
	if want := []string{"name=string", "n=number", "list=["}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	var elements []string
	for e := range jsonedit.Elements(raw(`[ 1,"a" , {} ]`)) {
		elements = append(elements, string(e))
		if len(elements) == 3 {
			break
		}
	}
	if want := []string{"1", `"a"`, "{}"}; !slices.Equal(elements, want) {
		t.Errorf("got %q, want %q", elements, want)
	}
	for range jsonedit.Members(raw(`[1]`)) {
		t.Error("an array has members")
	}
	for range jsonedit.Elements(raw(`{"a":1}`)) {
		t.Error("an object has elements")
	}
}

func TestRewriteInOnePass(t *testing.T) {
	in := raw(`[ {"name":"a","icons":[1]} , {"name":"b"}, {"name":"c", "icons":[] } ]`)
	got := jsonedit.MapElements(in, func(e jsontext.Value) (jsontext.Value, bool) {
		name, _ := jsonedit.GetString(e, "name")
		return jsonedit.Without(e, "icons", "other"), name != "b"
	})
	if want := `[ {"name":"a"} , {"name":"c"} ]`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got = jsonedit.MapMembers(raw(`{"a":1, "b":2 , "c":3}`),
		func(m jsonedit.Member) (jsontext.Value, bool) {
			return raw(`"new"`), m.Is("b")
		})
	if want := `{ "b":"new" }`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, same := range []string{`{"a":1}`, `[1]`, `1`, ``, `{"a":1`} {
		if got := jsonedit.Without(raw(same), "b"); string(got) != same {
			t.Errorf("got %s, want %s", got, same)
		}
		if got := jsonedit.MapElements(raw(same), func(e jsontext.Value) (jsontext.Value, bool) {
			return e, true
		}); string(got) != same {
			t.Errorf("got %s, want %s", got, same)
		}
	}
	if got := jsonedit.Without(raw(`{"b":1`), "b"); string(got) != `{"b":1` {
		t.Errorf("got %s, want what cannot be read to be left alone", got)
	}
}

func TestUnchangedIsNotCopied(t *testing.T) {
	in := raw(`{"a":1,"b":[1,2,3]}`)
	n := testing.AllocsPerRun(100, func() {
		jsonedit.Without(in, "c")
		jsonedit.Get(in, "b", "1")
		jsonedit.Delete(in, "c")
		for range jsonedit.Members(in) {
		}
	})
	if n > 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

// Invalid JSON is read up to the error.
func TestBrokenInputEndsEarly(t *testing.T) {
	for _, in := range []string{``, ` `, `{`, `{"a`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1 x`, `{"a":"`,
		`{"a":[`, `{"a":{]`, `{a:1}`, `{"a":,}`, `[`, `[1`, `[,]`, `}`, `]`, `{"a" 1}`, `{"":}`} {
		for _, path := range []string{"", "a", "a b", "0", "z"} {
			names := strings.Fields(path)
			jsonedit.Get(raw(in), names...)
			jsonedit.Delete(raw(in), names...)
			jsonedit.Set(raw(in), raw(`1`), names...)
		}
		for range jsonedit.Members(raw(in)) {
		}
		for range jsonedit.Elements(raw(in)) {
		}
		jsonedit.Without(raw(in), "a")
	}
	if (jsonedit.Member{Name: raw(`"`)}).Is("") {
		t.Error("half a name is equal to the empty one")
	}
}

func ExampleSet() {
	params := jsontext.Value(`{"name":"files__read", "arguments":{"offset":12345678901234567890}}`)
	params, _ = jsonedit.Set(params, jsonedit.Quote("read"), "name")
	params, _ = jsonedit.Set(params, jsontext.Value("7"), "_meta", "progressToken")
	fmt.Printf("%s\n", params)
	// Output: {"name":"read", "arguments":{"offset":12345678901234567890},"_meta":{"progressToken":7}}
}

func BenchmarkSetDeep(b *testing.B) {
	in := raw(`{"name":"files__read_text_file","arguments":{"path":"/srv/acme/README.md","head":100},"_meta":{"progressToken":"b1946ac92492d2347c6235b4d2"}}`)
	value := raw(`42`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := jsonedit.Set(in, value, "_meta", "progressToken"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	in := raw(`{"name":"files__read_text_file","arguments":{"path":"/srv/acme/README.md","head":100},"_meta":{"progressToken":"b1946ac92492d2347c6235b4d2"}}`)
	for _, path := range []string{"_meta progressToken", "_meta traceparent", "task"} {
		b.Run(path, func(b *testing.B) {
			names, want := strings.Fields(path), strings.HasSuffix(path, "Token")
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := jsonedit.Get(in, names...); ok != want {
					b.Fatal(ok)
				}
			}
		})
	}
}

// Kind returns the type of a value even if the value has no end.
func TestKind(t *testing.T) {
	object := jsontext.Value(`{"a":{"b":[1,true]},"c":null,"d":-1}`)
	for path, want := range map[string]jsontext.Kind{"": '{', "a": '{', "a.b": '[', "a.b.0": '0',
		"a.b.1": 't', "c": 'n', "d": '0', "e": 0, "a.c": 0, "a.b.2": 0, "c.d": 0} {
		if got := jsonedit.Kind(object, strings.FieldsFunc(path, func(r rune) bool {
			return r == '.'
		})...); got != want {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
	}
}
