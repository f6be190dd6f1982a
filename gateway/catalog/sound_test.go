package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"mcpd/gateway/catalog"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/rewrite"
)

// deep returns n nested objects.
func deep(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }

// Each kind of fault that occurs in published servers, and the result.
func TestSound(t *testing.T) {
	for _, c := range []struct {
		kind catalog.Kind
		// want is empty for an item that is left out with the note; = stands for the unchanged item
		item, want, note string
	}{
		{catalog.Tools, `{"name":"a","inputSchema":{"type":"object","x":null}, "x-own":null}`, `=`, ""},
		{catalog.Tools, `{"name":"a"}`, `{"name":"a","inputSchema":{"type":"object"}}`, ""},
		{catalog.Tools, `{"name":"a","inputSchema":null}`,
			`{"name":"a","inputSchema":{"type":"object"}}`, ""},
		{catalog.Tools, `{"name":"a","inputSchema":true}`,
			`{"name":"a","inputSchema":{"type":"object"}}`, ""},
		{catalog.Tools, `{"name":"a","inputSchema":{}}`,
			`{"name":"a","inputSchema":{"type":"object"}}`, ""},
		{catalog.Tools, `{"name":"a","inputSchema":[]}`,
			`{"name":"a","inputSchema":{"type":"object"}}`, ""},
		{catalog.Tools, `{"name":"a","inputSchema":{"properties":{"b":{}}}}`,
			`{"name":"a","inputSchema":{"properties":{"b":{}},"type":"object"}}`, ""},
		{catalog.Tools, `{"name":"a","inputSchema":{"type":null}}`,
			`{"name":"a","inputSchema":{"type":"object"}}`, ""},
		{catalog.Tools, `{"name":"a","inputSchema":{"type":["object","null"]}}`,
			`{"name":"a","inputSchema":{"type":"object"}}`, ""},
		{catalog.Tools, `{"name":"a","inputSchema":{"type":"object","properties":[]}}`,
			`{"name":"a","inputSchema":{"type":"object","properties":{}}}`, ""},
		{catalog.Tools, `{"name":"a","inputSchema":{"type":"object","properties":null,"required":null}}`,
			`{"name":"a","inputSchema":{"type":"object"}}`, ""},
		{
			catalog.Tools,
			`{"name":"a","inputSchema":{"type":"object","properties":{"b":null,"c":[]},"required":{}}}`,
			`{"name":"a","inputSchema":{"type":"object","properties":{"b":{},"c":{}},"required":[]}}`, "",
		},
		{catalog.Tools, `{"name":"a","inputSchema":{"type":"string"}}`, "",
			`tool.inputSchema.type is not "object"`},
		{catalog.Tools, `{"name":"a","inputSchema":{"type":["string"]}}`, "",
			`tool.inputSchema.type is not "object"`},
		{catalog.Tools, `{"name":"a","inputSchema":false}`, "", "tool.inputSchema is not an object"},
		{catalog.Tools, `{"name":"a","inputSchema":"{}"}`, "", "tool.inputSchema is not an object"},
		{catalog.Tools, `{"name":"a","inputSchema":{"type":"object","properties":"b"}}`, "",
			"tool.inputSchema.properties is not an object"},
		{catalog.Tools, `{"name":"a","inputSchema":{"type":"object","properties":{"b":"string"}}}`, "",
			"tool.inputSchema.properties.b is not an object"},
		{catalog.Tools, `{"name":"a","inputSchema":{"type":"object","required":["b",1]}}`, "",
			"tool.inputSchema.required[] is not a string"},
		{catalog.Tools, `{"name":"a","inputSchema":{"type":"object","required":true}}`, "",
			"tool.inputSchema.required is not an array"},
		{
			catalog.Tools,
			`{"name":"a","title":null,"description":null,"icons":null,"outputSchema":null,"annotations":null,"execution":null,"_meta":null,"inputSchema":{"type":"object"}}`, `{"name":"a","inputSchema":{"type":"object"}}`, "",
		},
		{
			catalog.Tools,
			`{"name":"a","inputSchema":{"type":"object"},"annotations":{"title":null,"readOnlyHint":null},"execution":{"taskSupport":null}}`, `{"name":"a","inputSchema":{"type":"object"},"annotations":{},"execution":{}}`, "",
		},
		{
			catalog.Tools,
			`{"name":"a","inputSchema":{"type":"object"},"annotations":[],"_meta":[],"icons":{}}`,
			`{"name":"a","inputSchema":{"type":"object"},"annotations":{},"_meta":{},"icons":[]}`, "",
		},
		{catalog.Tools, `{"name":"a","inputSchema":{"type":"object"},"outputSchema":true}`,
			`{"name":"a","inputSchema":{"type":"object"}}`, ""},
		{catalog.Tools, `{"name":"a","inputSchema":{"type":"object"},"outputSchema":"any"}`,
			`{"name":"a","inputSchema":{"type":"object"}}`, ""},
		{
			catalog.Tools,
			`{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"object","required":7}}`,
			`{"name":"a","inputSchema":{"type":"object"}}`, "",
		},
		{catalog.Tools, `{"name":"a","inputSchema":{"type":"object"},"description":5}`, "",
			"tool.description is not a string"},
		{
			catalog.Tools,
			`{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"}}`, "",
			"tool.annotations.readOnlyHint is not true or false",
		},
		{catalog.Tools, `{"name":"a","inputSchema":{"type":"object"},"annotations":"none"}`, "",
			"tool.annotations is not an object"},
		{
			catalog.Tools,
			`{"name":"a","inputSchema":{"type":"object"},"execution":{"taskSupport":"maybe"}}`, "",
			`tool.execution.taskSupport is not "forbidden", "optional" or "required"`,
		},
		{catalog.Tools, `{"name":"a","inputSchema":{"type":"object"},"icons":[{"sizes":["1x1"]}]}`, "",
			"tool.icons[] has no src"},
		{
			catalog.Tools,
			`{"name":"a","inputSchema":{"type":"object"},"icons":[{"src":"data:","sizes":"1x1"}]}`, "",
			"tool.icons[].sizes is not an array",
		},
		{
			catalog.Tools,
			`{"name":"a","inputSchema":{"type":"object"},"icons":[{"src":"data:","theme":"blue"}]}`, "",
			`tool.icons[].theme is not "light" or "dark"`,
		},
		{catalog.Tools, `{"name":"a","inputSchema":{"type":"object"},"icons":[null]}`, "",
			"tool.icons[] is not an object"},
		{catalog.Tools, `{"name":"a","inputSchema":{"type":"object"},"icons":["a.png"]}`, "",
			"tool.icons[] is not an object"},
		{catalog.Tools, `{"name":"a","inputSchema":{"type":"object"},"icons":"a.png"}`, "",
			"tool.icons is not an array"},
		{
			catalog.Tools,
			`{"name":"a","inputSchema":{"type":"object","properties":{"b":{"maximum":1e400}}}}`, "",
			"tool has a number that is out of range",
		},
		{catalog.Tools, `{"name":"a","inputSchema":{"type":"object"},"_meta":{"\\\"":"\\\\","b":-1e999}}`,
			"", "tool has a number that is out of range"},
		{
			catalog.Tools,
			`{"name":"a","inputSchema":{"type":"object"},"title":"\\\"1e400,","_meta":{"b":[1e-400,-0,123456789012345678901]}}`, `=`, "",
		},
		{
			catalog.Tools,
			`{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"b":{"maximum":1e400}}}}`, `{"name":"a","inputSchema":{"type":"object"}}`, "",
		},
		{catalog.Tools, `{"name":"a","inputSchema":{"type":"object"},"_meta":` + deep(189) +
			`}`, `=`, ""},
		{catalog.Tools, `{"name":"a","inputSchema":{"type":"object"},"_meta":` + deep(190) + `}`, "",
			"tool nests deeper than 190"},
		{catalog.Tools, `{"name":5,"inputSchema":{"type":"object"}}`, "", "tool.name is not a string"},
		{catalog.Tools, `{"inputSchema":{"type":"object"}}`, "", "tool has no name"},
		{catalog.Tools, `{"name":null,"inputSchema":{"type":"object"}}`, "", "tool has no name"},
		{catalog.Tools, `"a"`, "", "tool is not an object"},
		{catalog.Tools, `null`, "", "tool is not an object"},
		{catalog.Tools, `[]`, "", "tool has no name"},
		{catalog.Prompts, `{"name":"a","arguments":null}`, `{"name":"a"}`, ""},
		{catalog.Prompts, `{"name":"a","arguments":{}}`, `{"name":"a","arguments":[]}`, ""},
		{
			catalog.Prompts,
			`{"name":"a","arguments":[{"name":"b","title":null,"description":null,"required":null}]}`,
			`{"name":"a","arguments":[{"name":"b"}]}`, "",
		},
		{catalog.Prompts, `{"name":"a","arguments":[{"description":"b"}]}`, "",
			"prompt.arguments[] has no name"},
		{catalog.Prompts, `{"name":"a","arguments":["b"]}`, "", "prompt.arguments[] is not an object"},
		{catalog.Prompts, `{"name":"a","arguments":{"b":{}}}`, "", "prompt.arguments is not an array"},
		{catalog.Prompts, `{"name":"a","arguments":[{"name":"b","required":"true"}]}`, "",
			"prompt.arguments[].required is not true or false"},
		{catalog.Resources, `{"uri":"a:b"}`, "", "resource has no name"},
		{catalog.Resources, `{"uri":"a:b","name":null}`, "", "resource has no name"},
		{catalog.Resources, `{"name":"b"}`, "", "resource has no uri"},
		{catalog.Resources, `{"uri":7,"name":"b"}`, "", "resource.uri is not a string"},
		{
			catalog.Resources,
			`{"uri":"a:b","name":"b","mimeType":null,"size":null,"annotations":{"audience":null,"priority":null,"lastModified":null}}`, `{"uri":"a:b","name":"b","annotations":{}}`, "",
		},
		{catalog.Resources, `{"uri":"a:b","name":"b","size":"12"}`, "",
			"resource.size is not an integer"},
		{catalog.Resources, `{"uri":"a:b","name":"b","size":1.5}`, `{"uri":"a:b","name":"b"}`, ""},
		{catalog.Resources, `{"uri":"a:b","name":"b","size":12.0}`,
			`{"uri":"a:b","name":"b","size":12}`, ""},
		{catalog.Resources, `{"uri":"a:b","name":"b","size":1e400}`, `{"uri":"a:b","name":"b"}`, ""},
		{catalog.Resources, `{"uri":"a:b","name":"b","annotations":{"audience":"user"}}`, "",
			"resource.annotations.audience is not an array"},
		{catalog.Resources, `{"uri":"a:b","name":"b","annotations":{"audience":["system"]}}`, "",
			`resource.annotations.audience[] is not "user" or "assistant"`},
		{catalog.Resources, `{"uri":"a:b","name":"b","annotations":{"priority":"1"}}`, "",
			"resource.annotations.priority is not a number from 0 to 1"},
		{catalog.Resources, `{"uri":"a:b","name":"b","annotations":{"priority":10}}`, "",
			"resource.annotations.priority is not a number from 0 to 1"},
		{catalog.Resources, `{"uri":"a:b","name":"b","annotations":{"lastModified":"yesterday"}}`,
			`{"uri":"a:b","name":"b","annotations":{}}`, ""},
		{catalog.Resources, `{"uri":"a:b","name":"b","annotations":{"lastModified":7}}`, "",
			"resource.annotations.lastModified is not a time"},
		{
			catalog.Resources,
			`{"uri":"a:b","name":"b","annotations":{"lastModified":"2026-01-01T00:00:00.5+01:00"}}`, `=`, "",
		},
		{catalog.Templates, `{"uriTemplate":"a:{b}"}`, "", "resource template has no name"},
		{catalog.Templates, `{"uriTemplate":"a:{b}","name":"b","mimeType":null}`,
			`{"uriTemplate":"a:{b}","name":"b"}`, ""},
		{catalog.Templates, `{"uri":"a:b","name":"b"}`, "", "resource template has no uriTemplate"},
	} {
		if c.want == "=" {
			c.want = c.item
		}
		got, note := catalog.Repair(c.kind, true, jsontext.Value(c.item))
		if string(got) != c.want || note != c.note {
			t.Errorf("%s:\n got %s, %q\nwant %s, %q", c.item, got, note, c.want, c.note)
		}
	}
	// Since 2026-07-28 a schema may contain more.
	for _, schema := range []string{`"inputSchema":{"type":"object","properties":{"b":true},"required":null}`, `"inputSchema":{"type":"object"},"outputSchema":{"type":"array"}`} {
		item := `{"name":"a",` + schema + `}`
		if got, note := catalog.Repair(catalog.Tools, false, jsontext.Value(item)); string(got) != item {
			t.Errorf("%s: got %s, %q", item, got, note)
		}
	}
}

// definitions are the names of the items in the published schemas.
var definitions = map[catalog.Kind]string{
	catalog.Tools: "Tool", catalog.Prompts: "Prompt", catalog.Resources: "Resource",
	catalog.Templates: "ResourceTemplate",
}

// plain removes the formats of strings from a schema, because no client rejects a list for the
// format of a URI.
func plain(value any) {
	switch v := value.(type) {
	case map[string]any:
		if _, is := v["format"].(string); is {
			delete(v, "format")
		}
		for _, inner := range v {
			plain(inner)
		}
	case []any:
		for _, inner := range v {
			plain(inner)
		}
	}
}

// The table of members is correct: whatever item a server lists, the repaired item for clients of
// a revision is valid in that revision. An item that is valid already is not left out.
func TestSoundItemsAreValidInEveryRevision(t *testing.T) {
	for _, v := range protocol.Versions() {
		schemas := mcptest.LoadSchemas(t, v.String(), func(document map[string]any) { plain(document) })
		from := protocol.Latest
		if v.Era() == protocol.Modern {
			from = protocol.LatestLegacy
		}
		for _, kind := range catalog.Kinds() {
			t.Run(v.String()+" "+kind.String(), func(t *testing.T) {
				rapid.Check(t, func(r *rapid.T) {
					item := jsontext.Value(oddItem(r, kind))
					said := rewrite.Item(rewrite.Kind(kind), from, v, item)
					valid := schemas.Check(t, definitions[kind], said)
					got, fault := catalog.Repair(kind, v.Era() == protocol.Legacy, said)
					switch {
					case got == nil && fault == "":
						r.Fatalf("%s is left out without a reason", item)
					case got == nil && valid == nil:
						r.Fatalf("%s is valid and left out: %s", said, fault)
					case got == nil:
						return
					}
					if err := schemas.Check(t, definitions[kind], got); err != nil {
						r.Fatalf("%s becomes %s, which is not valid: %v", item, got, err)
					}
					if again, _ := catalog.Repair(kind, v.Era() == protocol.Legacy,
						got); string(again) != string(got) {
						r.Fatalf("%s becomes %s when it is repaired again", got, again)
					}
				})
			})
		}
	}
}

// names are members of items and of their parts.
var names = []string{
	"name", "title", "description", "icons", "inputSchema", "outputSchema", "annotations", "execution",
	"_meta", "arguments", "uri",
	"uriTemplate", "mimeType", "size", "$schema", "type", "properties", "required", "readOnlyHint",
	"destructiveHint", "taskSupport",
	"audience", "priority", "lastModified", "src", "sizes", "theme", "other", "n\\u0061me",
}

// right are valid values of the members of that name.
var right = map[string]string{
	"icons":        `[{"src":"data:,"}]`,
	"inputSchema":  `{"type":"object","properties":{"a":{}},"required":["a"]}`,
	"outputSchema": `{"type":"object"}`,
	"annotations":  `{"title":"t"}`, "execution": `{"taskSupport":"optional"}`, "_meta": `{"a":1}`,
	"arguments": `[{"name":"a","required":true}]`,
	"size":      `12`, "type": `"object"`, "properties": `{"a":{}}`, "required": `["a"]`,
	"readOnlyHint": `true`, "taskSupport": `"required"`,
	"audience": `["user"]`, "priority": `0.5`, "lastModified": `"2026-01-01T00:00:00Z"`,
	"sizes": `["any"]`, "theme": `"dark"`,
}

// oddItem draws an item in which any member may be valid or invalid.
func oddItem(r *rapid.T, kind catalog.Kind) string {
	needed := map[catalog.Kind][]string{catalog.Tools: {"name", "inputSchema"},
		catalog.Prompts: {"name"}, catalog.Resources: {"uri", "name"},
		catalog.Templates: {"uriTemplate", "name"}}[kind]
	members := map[string]string{}
	for _, name := range needed {
		if rapid.IntRange(0, 9).Draw(r, "needed") > 0 {
			members[name] = oddValue(r, name, 3)
		}
	}
	for range rapid.IntRange(0, 4).Draw(r, "members") {
		name := rapid.SampledFrom(names).Draw(r, "name")
		members[name] = oddValue(r, name, 3)
	}
	return asObject(members)
}

func asObject(members map[string]string) string {
	var all []string
	for _, name := range names {
		if value, ok := members[name]; ok && !(name == "n\\u0061me" && members["name"] != "") {
			all = append(all, `"`+name+`":`+value)
		}
	}
	return "{" + strings.Join(all, ",") + "}"
}

// oddValue draws a value of a member: a valid one, or anything.
func oddValue(r *rapid.T, name string, depth int) string {
	what := rapid.IntRange(0, 13).Draw(r, "value of "+name)
	if depth == 0 {
		what = min(what, 9)
	}
	switch what {
	case 0, 1, 2, 3:
		if v, ok := right[name]; ok {
			return v
		}
		return `"text"`
	case 4:
		return "null"
	case 5:
		return "true"
	case 6:
		return rapid.SampledFrom([]string{"-1", "7", "1.5", "12.0", "1e3", "1e99"}).Draw(r, "number")
	case 7:
		return rapid.SampledFrom([]string{"{}", "[]", "[ ]", "false", `""`}).Draw(r, "empty")
	case 8:
		return rapid.SampledFrom([]string{`"object"`, `"user"`, `"dark"`, `"optional"`,
			`["object","null"]`}).Draw(r, "word")
	case 9:
		return `"text"`
	case 10:
		return "[" + oddValue(r, name, depth-1) + "]"
	case 11:
		return fmt.Sprintf("[%s,%s]", oddValue(r, name, depth-1), oddValue(r, name, depth-1))
	}
	members := map[string]string{}
	for range rapid.IntRange(1, 3).Draw(r, "inner") {
		inner := rapid.SampledFrom(names).Draw(r, "inner name")
		members[inner] = oddValue(r, inner, depth-1)
	}
	return asObject(members)
}

// The faulty items of a list are counted, and described in one line.
func TestOdd(t *testing.T) {
	items := func(list ...string) (all []jsontext.Value) {
		for _, item := range list {
			all = append(all, jsontext.Value(item))
		}
		return all
	}
	tools := catalog.ItemIssues(catalog.Tools, true,
		items(`{"name":"a","inputSchema":{"type":"object"}}`,
			`{"name":"a","inputSchema":{"type":"object"}}`,
			`{"name":"b"}`, `{"name":"c","title":null}`, `{"name":7}`,
			`{"name":"`+strings.Repeat("n", 2000)+`","inputSchema":{"type":"object"}}`))
	resources := catalog.ItemIssues(catalog.Resources, true, items(`{"uri":"odd:r"}`))
	if fine := catalog.ItemIssues(catalog.Prompts, true, items(`{"name":"a"}`)); fine != nil {
		t.Errorf("a prompt that is right: %v", fine)
	}
	if len(tools) != 2 || tools[0].Count != 3 || tools[1].Count != 2 {
		t.Errorf("tools: %+v", tools)
	}
	got := catalog.DescribeIssues([4][]catalog.ItemIssue{
		catalog.Tools: tools, catalog.Resources: resources,
	})
	want := "tools: 3 left out (a: the server lists it twice), 2 repaired (b); resources: 1 left " +
		"out (odd:r: resource has no name)"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
