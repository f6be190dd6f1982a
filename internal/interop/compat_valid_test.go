package interop

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
)

// results are the definitions of the results of each method in the published schemas.
var results = map[string]string{
	"initialize": "InitializeResult", "server/discover": "DiscoverResult", "ping": "EmptyResult",
	"tools/list": "ListToolsResult", "tools/call": "CallToolResult",
	"prompts/list": "ListPromptsResult", "prompts/get": "GetPromptResult",
	"resources/list": "ListResourcesResult", "resources/templates/list": "ListResourceTemplatesResult",
	"resources/read":      "ReadResourceResult",
	"resources/subscribe": "EmptyResult", "resources/unsubscribe": "EmptyResult",
	"logging/setLevel":    "EmptyResult",
	"completion/complete": "CompleteResult",
}

// validity checks all messages that the clients of the matrix receive against the schema of their
// revision. It is safe for concurrent use. It is nil if there are no schemas.
type validity struct {
	mu      sync.Mutex
	schemas map[protocol.Version]*mcptest.Schemas
	seen    map[string]int // messages checked, by definition
}

func newValidity(t *testing.T) *validity {
	v := &validity{schemas: map[protocol.Version]*mcptest.Schemas{}, seen: map[string]int{}}
	for _, revision := range protocol.Versions() {
		if !mcptest.HasSchemas(t, revision.String()) && os.Getenv("CI") != "true" {
			t.Log("the published schemas are not there: set MCP_SCHEMA_DIR to check all traffic against " +
				"them")
			return nil
		}
		v.schemas[revision] = mcptest.LoadSchemas(t, revision.String())
	}
	return v
}

// check validates one message. The method is that of the answered request; it is empty if the
// message is no answer.
func (v *validity) check(t testing.TB, revision protocol.Version, method string,
	m jsonrpc.Message) {
	t.Helper()
	if v == nil {
		return
	}
	definition, value := defined(revision, method, m)
	if definition == "" {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen[definition]++
	if err := v.schemas[revision].Check(t, definition, value); err != nil {
		t.Errorf("what a client of %s got is no %s: %v\n%s", revision, definition, err, m.Append(nil))
	}
}

// defined returns the definition that a message must satisfy, and the part of the message that must
// satisfy it. The schema of 2026-07-28 has no tasks, which are an extension.
func defined(revision protocol.Version, method string, m jsonrpc.Message) (definition string,
	value jsontext.Value) {
	whole := jsontext.Value(m.Append(nil))
	modern := revision.Era() == protocol.Modern
	switch {
	case m.Method != "" && !m.ID.IsZero():
		return "ServerRequest", whole
	case strings.HasPrefix(m.Method, "notifications/tasks") && modern:
		return "", nil
	case m.Method != "":
		return "ServerNotification", whole
	case m.Error != nil && revision < protocol.V20251125:
		return "JSONRPCError", whole
	case m.Error != nil:
		return "JSONRPCErrorResponse", whole
	}
	switch kind := mrtr.TypeOf(m.Result); {
	case modern && kind == mrtr.InputRequired:
		return "InputRequiredResult", m.Result
	case modern && kind == mrtr.Task:
		return "", nil
	}
	if _, task := jsonedit.Get(m.Result, "task"); task && method == "tools/call" {
		return "CreateTaskResult", m.Result
	}
	return results[method], m.Result
}

// checkServer checks all messages that a server of one revision received. It skips the probes and
// handshakes that are requests of another era.
func (v *validity) checkServer(t *testing.T, u upstream) {
	t.Helper()
	if v == nil {
		return
	}
	data, err := os.ReadFile(u.notes + wireSuffix)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		m, err := jsonrpc.Decode(bytes.TrimSpace(line), jsonrpc.Limits{})
		if err != nil {
			t.Errorf("%s was sent %s: %v", u.end, line, err)
			continue
		}
		definition := "ClientResult"
		value := m.Result
		switch {
		case m.Method != "" && protocol.IsModern(m.Params) != (u.version.Era() == protocol.Modern) &&
			!m.ID.IsZero():
			continue // a probe, or a handshake
		case u.version.Era() == protocol.Modern &&
			(m.Method == "notifications/initialized" || strings.HasPrefix(m.Method, "tasks/")):
			// The notification belongs to that handshake. Tasks are an extension, which the schema lacks.
			continue
		case m.Method != "" && m.ID.IsZero():
			definition, value = "ClientNotification", jsontext.Value(m.Append(nil))
		case m.Method != "":
			definition, value = "ClientRequest", jsontext.Value(m.Append(nil))
		case m.Error != nil:
			definition, value = defined(u.version, "", m)
		}
		v.mu.Lock()
		v.seen[definition]++
		if err := v.schemas[u.version].Check(t, definition, value); err != nil {
			t.Errorf("what %s was sent is no %s: %v\n%s", u.end, definition, err, line)
		}
		v.mu.Unlock()
	}
}

// checkCoverage fails the test if one of the expected definitions was never checked.
func (v *validity) checkCoverage(t *testing.T) {
	if v == nil {
		return
	}
	t.Logf("checked: %v", v.seen)
	for _, definition := range []string{
		"InitializeResult", "DiscoverResult", "ListToolsResult", "CallToolResult", "InputRequiredResult",
		"GetPromptResult", "ReadResourceResult",
		"CompleteResult", "ClientRequest", "ClientNotification", "ClientResult", "ServerRequest",
		"ServerNotification", "JSONRPCError", "JSONRPCErrorResponse",
	} {
		if v.seen[definition] == 0 {
			t.Errorf("no %s was seen", definition)
		}
	}
}
