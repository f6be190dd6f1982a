package protocol

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// schema holds the definitions of one published schema.
type schema map[string]map[string]any

// schemas reads the published schemas from $MCP_SCHEMA_DIR, by default ../shared/schemas beside the
// module. They are not part of the repository. Without them the tests that need them are skipped,
// or fail if CI=true.
func schemas(t *testing.T) map[Version]schema {
	t.Helper()
	dir := os.Getenv("MCP_SCHEMA_DIR")
	if dir == "" {
		dir = "../shared/schemas"
	}
	if !filepath.IsAbs(dir) {
		// Tests run in their package's folder; the path is relative to the module.
		dir = filepath.Join("..", dir)
	}
	all := make(map[Version]schema)
	for _, v := range Versions() {
		path := filepath.Join(dir, v.String(), "schema.json")
		raw, err := os.ReadFile(path)
		if err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("no published schema: %v", err)
			}
			t.Skipf("no published schema: %v; set MCP_SCHEMA_DIR", err)
		}
		var file struct {
			Definitions schema `json:"definitions"`
			Defs        schema `json:"$defs"`
		}
		if err := json.Unmarshal(raw, &file); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[v] = make(schema)
		maps.Copy(all[v], file.Definitions) // up to 2025-06-18
		maps.Copy(all[v], file.Defs)        // from 2025-11-25 on
	}
	return all
}

// methodsOf lists the methods of the members of a union such as ClientRequest. It also accepts the
// name of a single type.
func (s schema) methodsOf(union string) (names []string) {
	def, ok := s[union]
	if !ok {
		return nil
	}
	if m := s.constant(union); m != "" {
		return []string{m}
	}
	members, _ := def["anyOf"].([]any)
	for _, m := range members {
		ref, _ := m.(map[string]any)["$ref"].(string)
		names = append(names, s.constant(ref[strings.LastIndexByte(ref, '/')+1:]))
	}
	return names
}

func (s schema) constant(def string) string {
	properties, _ := s[def]["properties"].(map[string]any)
	method, _ := properties["method"].(map[string]any)
	name, _ := method["const"].(string)
	return name
}

// has reports whether the definition has the property at the path. It also finds params that have a
// definition of their own.
func (s schema) has(def string, path ...string) bool {
	node, ok := s[def]
	for _, name := range path {
		properties, _ := node["properties"].(map[string]any)
		if node, ok = properties[name].(map[string]any); !ok {
			return false
		}
		if ref, isRef := node["$ref"].(string); isRef {
			node = s[ref[strings.LastIndexByte(ref, '/')+1:]]
		}
	}
	return ok
}

// The method table and the published schemas agree in every cell, in both directions.
func TestMethodTableMatchesSchemas(t *testing.T) {
	for v, s := range schemas(t) {
		published := make(map[string]cell)
		add := func(union string, c cell) {
			for _, name := range s.methodsOf(union) {
				if old := published[name]; old == ___ || old == c {
					published[name] = c
				} else {
					published[name] = two
				}
			}
		}
		add("ClientRequest", c2s)
		add("ClientNotification", c2s)
		add("ServerRequest", s2c)
		add("ServerNotification", s2c)
		add("InputRequest", mrt)
		for name, m := range methods {
			want := published[name]
			if m.route[v-1] == ext {
				want = ext
				if published[name] != ___ {
					t.Errorf("%v %s: is an extension's here, but the schema has it", v, name)
				}
			}
			if got := m.route[v-1]; got != want {
				t.Errorf("%v %s: got %s, the schema says %s", v, name, cellNames[got], cellNames[want])
			}
		}
		for name := range published {
			if m, ok := methods[name]; !ok {
				t.Errorf("%v %s: is in the schema, but not in the table", v, name)
			} else if m.Notification() != strings.HasPrefix(name, "notifications/") {
				t.Errorf("%s: notification %v", name, m.Notification())
			}
		}
	}
}

var cellNames = map[cell]string{
	___: "absent", c2s: "client", s2c: "server", two: "both", mrt: "embedded", ext: "extension",
}

// probes find features in a schema. The features that no schema shows are in proseOnly.
var probes = map[Feature]func(s schema) bool{
	Tools:                func(s schema) bool { return s.has("Tool") },
	Resources:            func(s schema) bool { return s.has("Resource") },
	Prompts:              func(s schema) bool { return s.has("Prompt") },
	Logging:              func(s schema) bool { return s.has("ServerCapabilities", "logging") },
	Sampling:             func(s schema) bool { return s.has("ClientCapabilities", "sampling") },
	Roots:                func(s schema) bool { return s.has("ClientCapabilities", "roots") },
	Completions:          func(s schema) bool { return s.has("CompleteRequest") },
	MessageNotifications: func(s schema) bool { return s.has("LoggingMessageNotification") },
	PaginationCursors:    func(s schema) bool { return s.has("ListToolsResult", "nextCursor") },
	RequestCancellation:  func(s schema) bool { return s.has("CancelledNotification") },
	Initialize:           func(s schema) bool { return s.has("InitializeRequest") },
	Ping:                 func(s schema) bool { return s.has("PingRequest") },
	PerRequestMeta: func(s schema) bool {
		return s.has("RequestMetaObject", MetaProtocolVersion)
	},
	Discover:              func(s schema) bool { return s.has("DiscoverRequest") },
	ServerRequests:        func(s schema) bool { return len(s.methodsOf("ServerRequest")) > 0 },
	MultiRoundTrip:        func(s schema) bool { return s.has("InputRequiredResult") },
	ResultType:            func(s schema) bool { return s.has("CallToolResult", "resultType") },
	CacheHints:            func(s schema) bool { return s.has("ListToolsResult", "ttlMs") },
	Listen:                func(s schema) bool { return s.has("SubscriptionsListenRequest") },
	SetLevel:              func(s schema) bool { return s.has("SetLevelRequest") },
	Batching:              func(s schema) bool { return s.has("JSONRPCBatchRequest") },
	CompletionsCapability: func(s schema) bool { return s.has("ServerCapabilities", "completions") },
	Elicitation:           func(s schema) bool { return s.has("ClientCapabilities", "elicitation") },
	URLElicitation: func(s schema) bool {
		return s.has("ClientCapabilities", "elicitation", "url")
	},
	SamplingTools: func(s schema) bool { return s.has("ClientCapabilities", "sampling", "tools") },
	RootsListChanged: func(s schema) bool {
		return s.has("ClientCapabilities", "roots", "listChanged")
	},
	Tasks: func(s schema) bool { return s.has("ServerCapabilities", "tasks") },
	ProgressMessage: func(s schema) bool {
		return s.has("ProgressNotification", "params", "message")
	},
	ToolAnnotations:   func(s schema) bool { return s.has("Tool", "annotations") },
	AudioContent:      func(s schema) bool { return s.has("AudioContent") },
	Titles:            func(s schema) bool { return s.has("Tool", "title") },
	StructuredContent: func(s schema) bool { return s.has("CallToolResult", "structuredContent") },
	AnyStructuredContent: func(s schema) bool {
		properties, _ := s["CallToolResult"]["properties"].(map[string]any)
		content, ok := properties["structuredContent"].(map[string]any)
		return ok && content["type"] == nil
	},
	ResourceLinks:     func(s schema) bool { return s.has("ResourceLink") },
	ObjectMeta:        func(s schema) bool { return s.has("Tool", "_meta") },
	CompletionContext: func(s schema) bool { return s.has("CompleteRequest", "params", "context") },
	Icons:             func(s schema) bool { return s.has("Tool", "icons") },
	ToolExecution:     func(s schema) bool { return s.has("Tool", "execution") },
	LastModified:      func(s schema) bool { return s.has("Annotations", "lastModified") },
	FullSchemas: func(s schema) bool {
		properties, _ := s["Tool"]["properties"].(map[string]any)
		input, _ := properties["inputSchema"].(map[string]any)
		_, open := input["additionalProperties"]
		return open
	},
	RichForms:          func(s schema) bool { return s.has("TitledSingleSelectEnumSchema") },
	ElicitationIDs:     func(s schema) bool { return s.has("ElicitationCompleteNotification") },
	URLElicitationCode: func(s schema) bool { return s.has("URLElicitationRequiredError") },
	SpecErrorCodes:     func(s schema) bool { return s.has("HeaderMismatchError") },
	ErrorsWithoutID: func(s schema) bool {
		def, ok := s["JSONRPCErrorResponse"]
		if !ok {
			def = s["JSONRPCError"]
		}
		required, _ := def["required"].([]any)
		return !slices.Contains(required, any("id"))
	},
}

// proseOnly lists the features that only the text of the specification describes: transports,
// extensions, and the error code of 2024-11-05 §server/resources.
var proseOnly = []Feature{
	Sessions, HTTPSSE, VersionHeader, PrimedStreams, RoutingHeaders, TasksExtension,
	ResourceNotFoundCode,
}

func TestFeatureGridMatchesSchemas(t *testing.T) {
	all := schemas(t)
	for f := range Feature(featureCount) {
		probe, ok := probes[f]
		if ok == slices.Contains(proseOnly, f) {
			t.Errorf("%v: shown by a schema %v, told in prose only %v", f, ok, !ok)
		}
		for v, s := range all {
			if ok && probe(s) != v.Has(f) {
				t.Errorf("%v %v: got %v, the schema says %v", v, f, v.Has(f), probe(s))
			}
		}
	}
}

// Shape keeps the capabilities that the schema of the revision has, and removes those that only
// other revisions have. extensions and experimental pass in all revisions.
func TestCapabilityShapesMatchSchemas(t *testing.T) {
	all := schemas(t)
	for _, side := range []struct {
		def   string
		paths []string
		has   func(v Version, path string) bool
	}{
		{"ClientCapabilities", schemaCapabilities[Client], func(v Version, path string) bool {
			return ClientCapabilities{}.With("elicitation", []byte(`{"form":{}}`)).With(path,
				[]byte(`{}`)).Shape(v).declares(path)
		}},
		{"ServerCapabilities", schemaCapabilities[Server], func(v Version, path string) bool {
			return ServerCapabilities{}.With(path, []byte(`{}`)).Shape(v).declares(path)
		}},
	} {
		for v, s := range all {
			for _, path := range side.paths {
				want := s.has(side.def, strings.Split(path, ".")...) || path == "extensions"
				if got := side.has(v, path); got != want {
					t.Errorf("%v %s.%s: got %v, the schema says %v", v, side.def, path, got, want)
				}
			}
			properties, _ := s[side.def]["properties"].(map[string]any)
			for name := range properties {
				if !slices.Contains(side.paths, name) {
					t.Errorf("%v %s.%s: is in the schema, but not known", v, side.def, name)
				}
			}
		}
	}
}

// Every capability that gates a method is a capability that a peer can declare.
func TestGatesNameKnownCapabilities(t *testing.T) {
	for name, m := range methods {
		known := slices.Concat(schemaCapabilities[Client], schemaCapabilities[Server])
		if (m.needs == "") != (m.declarer == nobody) ||
			m.needs != "" && !slices.Contains(known, m.needs) {
			t.Errorf("%s: gated on %q of %d", name, m.needs, m.declarer)
		}
		if m.action == "" {
			t.Errorf("%s: has no action", name)
		}
	}
	if got := len(methods); got != 36 {
		t.Errorf("got %d methods, want the 34 of the schemas and 2 of the tasks extension", got)
	}
}
