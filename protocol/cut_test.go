package protocol_test

import (
	"strings"
	"testing"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/subscription"
)

// The error of a request that ended with its tenant names the incident, the time until a retry, and
// whether a server may have executed the request.
func TestRequestThatIsCutByTheEndOfItsTenant(t *testing.T) {
	down := protocol.TenantDown("acme", "paused", "abc", 2*time.Second)
	for _, c := range []struct {
		err  *protocol.Error
		text string
		data string
	}{
		{down.EndedBeforeAnswer("files", true), `; server "files" may have executed the request`,
			`"server":"files","maybeExecuted":true,"retryable":false,"incident":"abc"`},
		{down.EndedBeforeAnswer("files", false), `; server "files" did not receive the request`,
			`"server":"files","maybeExecuted":false,"retryable":true,"incident":"abc"`},
		{down.EndedBeforeAnswer("", true), `; a server may have executed the request`,
			`"maybeExecuted":true,"retryable":false,"incident":"abc"`},
		{down.EndedBeforeAnswer("", false), `; no server received the request`,
			`"maybeExecuted":false,"retryable":true,"incident":"abc"`},
		{down.EndedBeforeAnswer("files", true).MarkRetryable("tools/list"), "",
			`"maybeExecuted":true,"retryable":true,"incident":"abc"`},
	} {
		told := protocol.Translate(c.err, protocol.V20251125)
		if !strings.HasPrefix(told.Message, "tenant acme is paused") ||
			!strings.Contains(told.Message, c.text) ||
			!strings.Contains(string(told.Data), c.data) || protocol.RetryAfter(told) != 2*time.Second {
			t.Errorf("%s %s, want %s and %s", told.Message, told.Data, c.text, c.data)
		}
	}
	if string(down.Data) != `{"maybeExecuted":false,"retryable":true,"incident":"abc"}` {
		t.Errorf("the error that others are told has changed: %s", down.Data)
	}
	ended := subscription.EndedFor(down, jsonrpc.IntID(7), protocol.Implementation{})
	want := `{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":7,` +
		`"mcpd/reason":"tenant acme is paused","mcpd/incident":"abc","mcpd/retryAfterMs":2000}}`
	if string(ended) != want {
		t.Errorf("got %s, want %s", ended, want)
	}
	if id, _ := jsonedit.GetString(ended, "_meta", "mcpd/incident"); id != "abc" {
		t.Errorf("incident %q", id)
	}
}
