package reconnect_test

import (
	"strings"
	"testing"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/reconnect"
)

// refusals returns how many of n requests of that size a link refuses while its host is away.
func refusals(t *testing.T, n, size int) (refused int) {
	t.Helper()
	l := reconnect.New()
	first := jsonrpc.Request(jsonrpc.IntID(0), "initialize",
		[]byte(`{"protocolVersion":"2025-11-25"}`))
	l.Step(start, reconnect.Event{Op: reconnect.Request, Message: first})
	result := []byte(`{"protocolVersion":"2025-11-25"}`)
	l.Step(start, reconnect.Event{Op: reconnect.Answer, Message: jsonrpc.Response(first.ID, result)})
	l.Step(start, reconnect.Event{Op: reconnect.Unreachable, Why: "no host answers"})
	params := []byte(`{"x":"` + strings.Repeat("x", size) + `"}`)
	for i := range n {
		m := jsonrpc.Request(jsonrpc.IntID(uint64(i+1)), "tools/call", params)
		for _, e := range l.Step(start, reconnect.Event{Op: reconnect.Request, Message: m}) {
			if e.Do == reconnect.Finish {
				refused++
				if !strings.Contains(string(e.Message.Error.Data), `"overloaded"`) {
					t.Errorf("refused with %s", e.Message.Append(nil))
				}
			}
		}
	}
	return refused
}

// The requests that wait for a host are bounded, in number and in bytes.
func TestHeldRequestsAreBounded(t *testing.T) {
	if got := refusals(t, reconnect.MaxHeld+5, 1); got != 5 {
		t.Errorf("%d of %d requests were refused, want 5", got, reconnect.MaxHeld+5)
	}
	const large = 1 << 20
	most := reconnect.MaxStoredBytes/large - 1 // each message takes some bytes more than its params
	if got := refusals(t, most+3, large); got != 3 {
		t.Errorf("%d of %d large requests were refused, want 3", got, most+3)
	}
}

// The open questions at a client are bounded.
func TestOpenQuestionsAreBounded(t *testing.T) {
	l := reconnect.New()
	sent := 0
	for i := range reconnect.MaxQuestions + 1 {
		ask := jsonrpc.Request(jsonrpc.IntID(uint64(i)), "elicitation/create", nil)
		for _, e := range l.Step(start, reconnect.Event{Op: reconnect.HostSent, Message: ask}) {
			if e.Do == reconnect.Send && e.Message.Error != nil {
				sent++
			}
		}
	}
	if sent != 1 {
		t.Errorf("%d of %d questions were refused, want 1", sent, reconnect.MaxQuestions+1)
	}
}

// A subscription that is too large to store ends when the host ends it.
func TestLargeSubscriptionEndsWithItsHost(t *testing.T) {
	l := reconnect.NewModern(protocol.V20260728)
	params := []byte(`{"x":"` + strings.Repeat("x", reconnect.MaxStoredBytes) + `"}`)
	listen := jsonrpc.Request(jsonrpc.IntID(1), "subscriptions/listen", params)
	l.Step(start, reconnect.Event{Op: reconnect.Request, Message: listen})
	ack := jsonrpc.Notification("notifications/subscriptions/acknowledged", nil)
	l.Step(start, reconnect.Event{Op: reconnect.HostSent, ID: listen.ID, Message: ack})
	end := jsonrpc.Response(listen.ID, nil)
	effects := l.Step(start, reconnect.Event{Op: reconnect.Answer, Message: end})
	if len(effects) != 1 || effects[0].Do != reconnect.Finish || effects[0].ID != listen.ID {
		t.Errorf("got %d effects, want the outcome", len(effects))
	}
}
