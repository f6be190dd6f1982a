package demo

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// definitions are the types of the server's messages in the published schemas: results by the
// method they answer, requests and notifications by their own method.
var definitions = map[protocol.Version]map[string]string{
	protocol.LatestLegacy: {
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
		"tasks/get":                "GetTaskResult",
		"tasks/result":             "GetTaskPayloadResult",
		"tasks/list":               "ListTasksResult",
		"tasks/cancel":             "CancelTaskResult",

		"sampling/createMessage":             "CreateMessageRequest",
		"elicitation/create":                 "ElicitRequest",
		"roots/list":                         "ListRootsRequest",
		"notifications/message":              "LoggingMessageNotification",
		"notifications/progress":             "ProgressNotification",
		"notifications/cancelled":            "CancelledNotification",
		"notifications/resources/updated":    "ResourceUpdatedNotification",
		"notifications/tools/list_changed":   "ToolListChangedNotification",
		"notifications/prompts/list_changed": "PromptListChangedNotification",
		"notifications/tasks/status":         "TaskStatusNotification",
	},
	protocol.Latest: {
		"server/discover":          "DiscoverResult",
		"subscriptions/listen":     "SubscriptionsListenResult",
		"tools/list":               "ListToolsResult",
		"tools/call":               "CallToolResult",
		"resources/list":           "ListResourcesResult",
		"resources/templates/list": "ListResourceTemplatesResult",
		"resources/read":           "ReadResourceResult",
		"prompts/list":             "ListPromptsResult",
		"prompts/get":              "GetPromptResult",
		"completion/complete":      "CompleteResult",
		"tasks/get":                "Result",
		"tasks/update":             "EmptyResult",
		"tasks/cancel":             "EmptyResult",

		"notifications/message":                    "LoggingMessageNotification",
		"notifications/progress":                   "ProgressNotification",
		"notifications/cancelled":                  "CancelledNotification",
		"notifications/resources/updated":          "ResourceUpdatedNotification",
		"notifications/tools/list_changed":         "ToolListChangedNotification",
		"notifications/prompts/list_changed":       "PromptListChangedNotification",
		"notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
		"notifications/tasks":                      "JSONRPCNotification",
	},
}

// definition is the type of a message, with the value to validate and the key in definitions.
func definition(x exchange) (name, definition string, value jsontext.Value) {
	table := definitions[x.version]
	switch x.message.Kind() {
	case jsonrpc.KindRequest, jsonrpc.KindNotification:
		return x.message.Method, table[x.message.Method], x.message.Append(nil)
	case jsonrpc.KindFailure:
		code := map[int64]string{
			protocol.CodeMissingCapability:  "MissingRequiredClientCapabilityError",
			protocol.CodeUnsupportedVersion: "UnsupportedProtocolVersionError",
		}
		if specific := code[x.message.Error.Code]; specific != "" {
			return "", specific, x.message.Append(nil)
		}
		return "", "JSONRPCErrorResponse", x.message.Append(nil)
	}
	if _, made := jsonedit.Get(x.message.Result, "task"); made {
		return "task", "CreateTaskResult", x.message.Result
	}
	switch kind, _ := jsonedit.GetString(x.message.Result, "resultType"); kind {
	case "input_required":
		return "input_required", "InputRequiredResult", x.message.Result
	case "task":
		return "task", "Result", x.message.Result
	}
	return x.answers, table[x.answers], x.message.Result
}

// Every message of the server in a scenario conforms to its revision, and the scenarios contain
// every message that the server can send.
func TestEveryMessageKeepsThePublishedSchema(t *testing.T) {
	unseen := map[protocol.Version]map[string]bool{}
	schemas := map[protocol.Version]*mcptest.Schemas{}
	for v, table := range definitions {
		schemas[v] = mcptest.LoadSchemas(t, v.String())
		unseen[v] = map[string]bool{}
		for name := range table {
			unseen[v][name] = true
		}
	}
	unseen[protocol.Latest]["input_required"], unseen[protocol.Latest]["task"] = true, true
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range play(t, string(text)).sent {
			if x.version == 0 {
				x.version = protocol.LatestLegacy
			}
			if definitions[x.version] == nil {
				continue
			}
			name, definition, value := definition(x)
			if err := schemas[x.version].Check(t, definition, value); err != nil {
				t.Errorf("%s: %s %s: %v", file, definition, value, err)
			}
			checkTask(t, schemas[x.version], name, x.message)
			delete(unseen[x.version], name)
		}
	}
	for v, names := range unseen {
		for name := range names {
			t.Errorf("no scenario shows %s of %s", name, v)
		}
	}
	for name := range methods {
		m, _ := protocol.LookupMethod(name)
		for v, table := range definitions {
			if m.Allows(v, protocol.Client) && !strings.HasPrefix(name, "tasks/") && table[name] == "" {
				t.Errorf("%s of %s is answered but not checked", name, v)
			}
		}
	}
}

// taskSchema is Task of SEP-2663, which is not in the published schemas. The members of each status
// are in taskDetails.
var taskSchema = jsontext.Value(`{
	"type": "object",
	"properties": {
		"taskId": {"type": "string"},
		"status": {"enum": ["working", "input_required", "completed", "cancelled", "failed"]},
		"statusMessage": {"type": "string"},
		"createdAt": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?Z$"},
		"lastUpdatedAt": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?Z$"},
		"ttlMs": {"type": ["integer", "null"], "minimum": 0},
		"pollIntervalMs": {"type": "integer", "minimum": 0},
		"resultType": {"enum": ["task", "complete"]},
		"inputRequests": {"type": "object", "minProperties": 1},
		"result": {"type": "object"},
		"error": {"type": "object", "required": ["code", "message"]},
		"_meta": {"type": "object"}
	},
	"required": ["taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs"],
	"additionalProperties": false
}`)

// taskDetails are the members that a task has in exactly one status.
var taskDetails = map[string]string{
	"input_required": "inputRequests", "completed": "result", "failed": "error",
}

// checkTask checks a message that is a task or contains one, and the contents of the task.
func checkTask(t *testing.T, schemas *mcptest.Schemas, name string, m jsonrpc.Message) {
	t.Helper()
	task := m.Result
	switch name {
	case "notifications/tasks":
		task = m.Params
	case "tasks/get", "task":
		_, core := jsonedit.Get(m.Result, "ttl")
		if _, made := jsonedit.Get(m.Result, "task"); core || made { // already checked against its schema
			return
		}
	default:
		return
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(task)))
	if err != nil {
		t.Fatal(err)
	}
	if err := compile(t, taskSchema).Validate(document); err != nil {
		t.Errorf("%s: %v", task, err)
	}
	status, _ := jsonedit.GetString(task, "status")
	for s, member := range taskDetails {
		if _, has := jsonedit.Get(task, member); has != (s == status && name != "task") {
			t.Errorf("%s: status %s has %s = %t", name, status, member, has)
		}
	}
	if result, ok := jsonedit.Get(task, "result"); ok {
		if err := schemas.Check(t, "CallToolResult", result); err != nil {
			t.Errorf("%s: %v", result, err)
		}
	}
	if requests, ok := jsonedit.Get(task, "inputRequests"); ok {
		if err := schemas.Check(t, "InputRequests", requests); err != nil {
			t.Errorf("%s: %v", requests, err)
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

// The checks are written by hand, so that the host needs no validator for a demo server. This test
// shows that they agree with the schemas that clients see.
func TestChecksAgreeWithTheSchemas(t *testing.T) {
	for _, row := range tools {
		t.Run(row.name, func(t *testing.T) {
			schema := compile(t, row.inputSchema())
			rapid.Check(t, func(rt *rapid.T) {
				args := anyArguments().Draw(rt, "args")
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

// anyArguments draws an object with members that the tools know, and one that none knows, with
// valid and invalid values.
func anyArguments() *rapid.Generator[jsontext.Value] {
	anything := []any{
		"phone", "email", "fax", "", 7, 7.5, -1, 120, 121, 1001, jsontext.Value("1e2"),
		jsontext.Value("7.0"), jsontext.Value("1e400"),
		nil, true, []any{}, object{}, object{"street": "a"}, object{"city": 1}, object{"x": 1},
	}
	names := []string{"other"}
	for _, row := range tools {
		for _, p := range row.params {
			names = append(names, p.name)
		}
	}
	contact := []string{"name", "address", "contactMethod", "phone", "email"}
	slices.Sort(names)
	names = slices.Compact(append(names, contact...))
	return rapid.Custom(func(t *rapid.T) jsontext.Value {
		args := object{}
		for _, name := range names {
			switch rapid.IntRange(0, 5).Draw(t, name) {
			case 0:
				args[name] = rapid.SampledFrom(anything).Draw(t, name+" as anything")
			case 1, 2:
				args[name] = rapid.SampledFrom([]any{"phone", "email", 7, true}).Draw(t, name+" as something")
			}
		}
		if rapid.Bool().Draw(t, "known only") {
			maps.DeleteFunc(args, func(name string, _ any) bool { return !slices.Contains(contact, name) })
		}
		return encode(args)
	})
}

// The structured output of a tool conforms to its output schema.
func TestStructuredContentKeepsItsSchema(t *testing.T) {
	for _, row := range tools {
		if row.output == nil {
			continue
		}
		s := play(t, "hello 2025-11-25 {}\n> "+`{"id":1,"method":"tools/call","params":{"name":"`+
			row.name+`","arguments":{}}}`)
		structured, ok := jsonedit.Get(s.sent[0].message.Result, "structuredContent")
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
