package rewrite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/rewrite"
)

// ways returns all translations of a message, by name.
func ways(method string, from, to protocol.Version) map[string]func(jsontext.Value) (jsontext.Value,
	error) {
	list := map[string]func(jsontext.Value) (jsontext.Value, error){
		"result": func(v jsontext.Value) (jsontext.Value, error) {
			return rewrite.Result(method, from, to, v, gateway)
		},
		"bare result": func(v jsontext.Value) (jsontext.Value, error) {
			return rewrite.Result(method, from, to, v, rewrite.Options{})
		},
		"request": func(v jsontext.Value) (jsontext.Value, error) {
			return rewrite.Request(method, from, to, v)
		},
		"notification": func(v jsontext.Value) (jsontext.Value, error) {
			return rewrite.Notification(method, from, to, v)
		},
		"question": func(v jsontext.Value) (jsontext.Value, error) {
			return rewrite.Question(method, from, to, v, "e")
		},
		"answer": func(v jsontext.Value) (jsontext.Value, error) {
			return rewrite.Answer(method, from, to, v)
		},
		"error": func(v jsontext.Value) (jsontext.Value, error) {
			return rewrite.Error(from, to, protocol.ClientCapabilities{}, method, v,
				&jsonrpc.Error{Code: -32002, Data: v}).Data, nil
		},
	}
	if from.Has(protocol.Discover) != to.Has(protocol.Discover) &&
		(method == "initialize" || method == "server/discover") {
		delete(list, "result") // one form becomes another, so a second pass is not defined
		delete(list, "bare result")
	}
	for k := rewrite.Tool; k <= rewrite.Template; k++ {
		list[k.String()] = func(v jsontext.Value) (jsontext.Value, error) {
			return rewrite.Item(k, from, to, v), nil
		}
	}
	return list
}

// holds checks the properties that all messages have, valid or not: the input does not change,
// equal revisions yield the same bytes, JSON stays JSON without duplicate names, and a second pass
// changes nothing.
func holds(t interface{ Fatalf(string, ...any) }, method string, from, to protocol.Version,
	in jsontext.Value) {
	strict := func(v jsontext.Value) bool { return len(v) == 0 || v.IsValid() }
	for name, f := range ways(method, from, to) {
		before := bytes.Clone(in)
		got, err := f(in)
		switch {
		case !bytes.Equal(before, in):
			t.Fatalf("%s %s, %v to %v: changed its input %s to %s", name, method, from, to, before, in)
		case from == to && (err != nil || !same(got, in)):
			t.Fatalf("%s %s, %v: got %s (%v) of %s", name, method, from, got, err, in)
		case err != nil || !strict(in):
			continue
		case !strict(got):
			t.Fatalf("%s %s, %v to %v: got no JSON: %s of %s", name, method, from, to, got, in)
		}
		if again, err := f(got); err != nil || !bytes.Equal(again, got) {
			t.Fatalf("%s %s, %v to %v: got %s (%v) the second time, %s the first, of %s", name, method, from,
				to, again, err, got, in)
		}
	}
}

// words are the names that the package interprets, and one other name.
var words = func() []string {
	list := []string{
		"type", "properties", "x-mcp-header", "uri", "name", "data", "mimeType", "requestId", "tools",
		"role", "oneOf", "const", "other",
	}
	for _, rows := range rewrite.Table() {
		for _, row := range rows {
			list = append(list, row.Name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}()

// deep is the depth of random messages: from a result through a list, an item and a schema to a
// property.
const deep = 6

// anything draws JSON with such names and random spacing.
func anything(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		from, n := 0, 10
		switch depth {
		case 0:
			n = 5
		case deep:
			from = 7
		}
		space := rapid.SampledFrom([]string{"", "", "", " ", "\n"}).Draw(t, "space")
		switch rapid.IntRange(from, n).Draw(t, "kind") {
		case 0:
			return rapid.SampledFrom([]string{`"text"`, `"audio"`, `"resource_link"`, `"tool_result"`,
				`"array"`, `"boolean"`, `"url"`}).Draw(t, "type")
		case 1:
			return rapid.SampledFrom([]string{"0", "-1.50", "12345678901234567890", "1e400"}).Draw(t,
				"number")
		case 2:
			return rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "word")
		case 3:
			return rapid.SampledFrom([]string{`""`, `"object"`, `"complete"`, `"\u0061\\\""`}).Draw(t,
				"string")
		case 4, 5:
			return "{" + space + "}"
		case 6:
			out := "[" + space
			for i := range rapid.IntRange(0, 3).Draw(t, "elements") {
				if i > 0 {
					out += "," + space
				}
				out += anything(depth-1).Draw(t, "element") + space
			}
			return out + "]"
		}
		out := "{"
		names := rapid.SliceOfNDistinct(rapid.SampledFrom(words), 0, 6, rapid.ID[string]).Draw(t, "names")
		for i, name := range names {
			if i > 0 {
				out += ","
			}
			out += space + `"` + name + `"` + space + ":" + anything(depth-1).Draw(t, "value") + space
		}
		return out + "}"
	})
}

// inputs returns the messages of the scenarios.
func inputs(t testing.TB) (list []jsontext.Value) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			if line[0] == '{' {
				list = append(list, bytes.TrimSpace(line))
			}
		}
	}
	return list
}

func TestScenariosHoldForAllPairs(t *testing.T) {
	methods := []string{
		"tools/call", "tools/list", "prompts/get", "completion/complete", "initialize",
		"sampling/createMessage", "elicitation/create",
	}
	for _, in := range inputs(t) {
		for _, method := range methods {
			pairs(func(from, to protocol.Version) { holds(t, method, from, to, in) })
		}
	}
}

func TestAnyMessageSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		versions := rapid.SampledFrom(protocol.Versions())
		from, to := versions.Draw(t, "from"), versions.Draw(t, "to")
		method := rapid.SampledFrom(protocol.MethodNames()).Draw(t, "method")
		holds(t, method, from, to, jsontext.Value(anything(deep).Draw(t, "message")))
	})
}

func FuzzRewrite(f *testing.F) {
	for i, in := range inputs(f) {
		f.Add(i%len(protocol.MethodNames()), uint8(i), uint8(i/5), []byte(in))
	}
	for _, in := range []string{
		`{"content":[{"type":"audio","data":"AA"},{"type":"resource_link","name":"a"}],"structuredContent":1,"_meta":null}`,
		`{"messages":[{"content":[{"type":"tool_result"}]}],"tools":[]}`,
		`{"requestedSchema":{"properties":{"a":{"oneOf":[{"const":"a"}],"default":1}}},"mode":"form"}`,
		`{"tools":[{"title":"T","annotations":null,"inputSchema":{"properties":{"a":true}},"outputSchema":{}}]}`,
		`{"capabilities":{"sampling":{"tools":{}}},"protocolVersion":1}`, `[[[[`, `{"_meta":{`, ``,
	} {
		for i := range protocol.MethodNames() {
			f.Add(i, uint8(i%5), uint8(i/5), []byte(in))
		}
	}
	f.Fuzz(func(t *testing.T, method int, from, to uint8, in []byte) {
		names := protocol.MethodNames()
		name := "vendor/custom"
		if 0 <= method && method < len(names) {
			name = names[method]
		}
		from, to = from%7, to%7 // two more than there are revisions
		if v := jsontext.Value(in); !v.IsValid() && len(in) > 0 {
			for _, f := range ways(name, protocol.Version(from), protocol.Version(to)) {
				_, _ = f(in) // it only must not panic
			}
			return
		}
		if known := func(v uint8) bool { return 0 < v && v < 6 }; !known(from) || !known(to) {
			for _, f := range ways(name, protocol.Version(from), protocol.Version(to)) {
				_, _ = f(in)
			}
			return
		}
		holds(t, name, protocol.Version(from), protocol.Version(to), in)
	})
}
