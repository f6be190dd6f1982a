package session_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/internal/testrig"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// A host that takes no new calls still takes messages that let calls in flight end. It
// distinguishes the two before an actor sees the message.
func TestHostThatEndsTakesNoNewCalls(t *testing.T) {
	run(t, func(r *rig) {
		h := r.open()
		request := func(method, params string) jsonrpc.Message {
			return jsonrpc.Request(jsonrpc.IntID(1), method, jsontext.Value(params))
		}
		time.Sleep(time.Minute)
		r.index.Ending = func() *protocol.Error { return protocol.Stopping("", false) }
		for _, test := range []struct {
			m     jsonrpc.Message
			taken bool
		}{
			{request("tools/call", `{"name":"echo"}`), false},
			{request("tools/list", `{}`), false},
			{request("resources/read", `{"uri":"file:///x"}`), false},
			{request("no/such", `{"requestState":"s"}`), false},
			{request("tools/call", `{"name":"echo","requestState":"s"}`), true},
			{request("tools/call", `{"name":"echo","inputResponses":{}}`), true},
			{request("subscriptions/listen", `{}`), true},
			{request("tasks/cancel", `{"taskId":"t"}`), true},
			{request("tasks/update", `{"taskId":"t"}`), true},
			{request("ping", ``), true},
			{jsonrpc.Notification("notifications/cancelled", jsontext.Value(`{"requestId":1}`)), true},
			{jsonrpc.Response(jsonrpc.IntID(1), jsontext.Value(`{}`)), true},
		} {
			var out testrig.Sink
			idle := r.index.Idle(time.Now())
			err := h.Deliver(t.Context(), test.m, &out)
			var refused *protocol.Error
			stopping := errors.As(err, &refused) && refused.Condition == protocol.ConditionStopping
			heard := r.index.Idle(time.Now()) < idle
			if stopping == test.taken || heard != test.taken {
				t.Errorf("%s %s: got %v, heard %t, want it taken %t", test.m.Method, test.m.Params, err,
					heard, test.taken)
			}
			time.Sleep(time.Second)
		}
	})
}
