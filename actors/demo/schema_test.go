package demo

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
)

// definitions name the type that the published schema has for what the server sends: results by the method they answer, requests and
// notifications by their own.
var definitions = map[string]string{
	"initialize":               "InitializeResult",
	"ping":                     "EmptyResult",
	"logging/setLevel":         "EmptyResult",
	"tools/list":               "ListToolsResult",
	"tools/call":               "CallToolResult",
	"resources/list":           "ListResourcesResult",
	"resources/templates/list": "ListResourceTemplatesResult",
	"resources/read":           "ReadResourceResult",
	"resources/subscribe":      "EmptyResult",
	"resources/unsubscribe":    "EmptyResult",
	"prompts/list":             "ListPromptsResult",
	"prompts/get":              "GetPromptResult",
	"completion/complete":      "CompleteResult",

	"sampling/createMessage":          "CreateMessageRequest",
	"elicitation/create":              "ElicitRequest",
	"notifications/message":           "LoggingMessageNotification",
	"notifications/progress":          "ProgressNotification",
	"notifications/cancelled":         "CancelledNotification",
	"notifications/resources/updated": "ResourceUpdatedNotification",
}

// Whatever the server says in any scenario is what 2025-11-25 allows, and the scenarios show everything that it can say.
func TestEveryMessageKeepsThePublishedSchema(t *testing.T) {
	schemas := mcptest.LoadSchemas(t, "2025-11-25")
	unseen := map[string]bool{}
	for name := range definitions {
		unseen[name] = true
	}
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range play(t, string(text)).sent {
			if x.version != 0 && x.version != protocol.V20251125 {
				continue
			}
			name, value, definition := x.answers, x.message.Result, definitions[x.answers]
			switch x.message.Kind() {
			case jsonrpc.KindRequest, jsonrpc.KindNotification:
				name, value = x.message.Method, x.message.Append(nil)
				definition = definitions[name]
			case jsonrpc.KindFailure:
				value, definition = x.message.Append(nil), "JSONRPCErrorResponse"
			}
			if err := schemas.Check(t, definition, value); err != nil {
				t.Errorf("%s: %s %s: %v", file, definition, value, err)
			}
			if x.message.Kind() != jsonrpc.KindFailure {
				delete(unseen, name)
			}
		}
	}
	for name := range unseen {
		t.Errorf("no scenario shows %s", name)
	}
	for name := range methods {
		if definitions[name] == "" {
			t.Errorf("%s is answered but not checked", name)
		}
	}
}

// compile makes a validator of a tool's own input schema.
func compile(t testing.TB, raw jsontext.Value) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("file:///tool.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("file:///tool.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// The checks are written by hand, so that the host needs no validator for a demonstration; this shows that they say what the schemas
// that clients see say.
func TestChecksAgreeWithTheSchemas(t *testing.T) {
	for _, row := range tools {
		t.Run(row.name, func(t *testing.T) {
			schema := compile(t, row.inputSchema())
			rapid.Check(t, func(rt *rapid.T) {
				args := arguments().Draw(rt, "args")
				document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(args)))
				if err != nil {
					rt.Fatal(err)
				}
				byHand, bySchema := row.invalid(args), schema.Validate(document)
				if (byHand == "") != (bySchema == nil) {
					rt.Fatalf("%s: by hand %q, by schema %v", args, byHand, bySchema)
				}
			})
		})
	}
}

// arguments draws an object of the members that the tools know, and one that none knows, with values right and wrong.
func arguments() *rapid.Generator[jsontext.Value] {
	anything := []any{"phone", "email", "fax", "", 7, nil, true, []any{}, object{}, object{"street": "a"}, object{"city": 1}, object{"x": 1}}
	return rapid.Custom(func(t *rapid.T) jsontext.Value {
		args := object{}
		for _, name := range []string{"message", "prompt", "name", "address", "contactMethod", "phone", "email", "other"} {
			switch rapid.IntRange(0, 5).Draw(t, name) {
			case 0:
				args[name] = rapid.SampledFrom(anything).Draw(t, name+" as anything")
			case 1, 2:
				args[name] = rapid.SampledFrom([]string{"phone", "email"}).Draw(t, name+" as a string")
			}
		}
		if rapid.Bool().Draw(t, "known only") {
			delete(args, "other")
			delete(args, "message")
			delete(args, "prompt")
		}
		return encode(args)
	})
}

// The structured output of a tool is what its output schema says.
func TestStructuredContentKeepsItsSchema(t *testing.T) {
	for _, row := range tools {
		if row.output == nil {
			continue
		}
		s := play(t, "hello 2025-11-25 {}\n> "+`{"id":1,"method":"tools/call","params":{"name":"`+row.name+`","arguments":{}}}`)
		structured, ok := splice.Get(s.sent[0].message.Result, "structuredContent")
		if !ok {
			t.Errorf("%s: no structuredContent", row.name)
			continue
		}
		var document any
		if err := json.Unmarshal(structured, &document); err != nil {
			t.Fatal(err)
		}
		if err := compile(t, row.output).Validate(document); err != nil {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}

// toolName is what 2025-11-25 §server/tools and the conformance suite allow.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_./-]{1,64}$`)

func TestTablesKeepTheirPromises(t *testing.T) {
	names := map[string]bool{}
	for _, row := range tools {
		if !toolName.MatchString(row.name) || names[row.name] || row.description == "" || row.title == "" {
			t.Errorf("tool %q: bad or repeated name, or no title or description", row.name)
		}
		names[row.name] = true
		if _, ok := row.steps[len(row.steps)-1].(answer); !ok {
			t.Errorf("tool %s: the last step does not answer", row.name)
		}
	}
	for _, row := range resources {
		if got, ok := findResource(row.uri); !ok || got.name != row.name {
			t.Errorf("resource %s is found as %s", row.uri, got.name)
		}
	}
	for _, row := range templates {
		for _, value := range row.values {
			if got, ok := row.match(row.prefix + value + row.suffix); !ok || got != value {
				t.Errorf("template %s does not match its value %q", row.uriTemplate(), value)
			}
		}
	}
	for _, row := range prompts {
		if row.description == "" {
			t.Errorf("prompt %s: no description", row.name)
		}
	}
	first := play(t, "hello 2025-11-25 {}\n> "+`{"id":1,"method":"tools/call","params":{"name":"`+tools[0].name+`","arguments":{}}}`)
	if _, failed := splice.Get(first.sent[0].message.Result, "isError"); failed {
		t.Errorf("the first tool, %s, does not succeed without arguments", tools[0].name)
	}
}

// S1-17: what is declared is answered, and what is answered is declared.
func TestCapabilitiesAreTheMethods(t *testing.T) {
	needs := map[string]string{
		"logging/setLevel": "logging", "completion/complete": "completions",
		"tools/list": "tools", "tools/call": "tools", "prompts/list": "prompts", "prompts/get": "prompts",
		"resources/list": "resources", "resources/templates/list": "resources", "resources/read": "resources",
		"resources/subscribe": "resources.subscribe", "resources/unsubscribe": "resources.subscribe",
	}
	declared, err := protocol.ParseServerCapabilities(capabilities)
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range methods {
		if !m.early && !declared.Has(needs[name]) {
			t.Errorf("%s is answered, %s is not declared", name, needs[name])
		}
	}
	for name := range needs {
		if _, ok := methods[name]; !ok {
			t.Errorf("%s is not answered", name)
		}
	}
	for _, never := range []string{"tools.listChanged", "prompts.listChanged", "resources.listChanged", "tasks"} {
		if declared.Has(never) {
			t.Errorf("%s is declared and never comes", never)
		}
	}
}

// More calls at once than the host admits are refused, not queued.
func TestCallsUnderWayAreBounded(t *testing.T) {
	s := play(t, "hello 2025-11-25 {}\n")
	begin := func(i int) []effect {
		params := jsontext.Value(`{"name":"test_tool_with_progress"}`)
		return s.core.Step(s.now, jsonrpc.Request(jsonrpc.IntID(uint64(i)), "tools/call", params))
	}
	for i := range protocol.MaxPending {
		if _, waiting := begin(i)[0].(wait); !waiting {
			t.Fatalf("call %d does not wait", i)
		}
	}
	refused, ok := begin(protocol.MaxPending)[0].(send)
	if !ok || refused.message.Error == nil || refused.message.Error.Code != protocol.CodeRateLimited {
		t.Errorf("call beyond the bound: %+v", refused)
	}
	if again, ok := begin(0)[0].(send); !ok || again.message.Error == nil || again.message.Error.Code != protocol.CodeRequestIDConflict {
		t.Errorf("id in use: %+v", again)
	}
}
