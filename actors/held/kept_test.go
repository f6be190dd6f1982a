package held_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/quota"
	"mcpd/protocol/jsonrpc"
)

// A held call counts the bytes that it keeps for its tenant, and none once it is over, also after a
// crash. A question that finds no room is refused, and such a result is replaced by the reason.
func TestCallCountsWhatItKeeps(t *testing.T) {
	run(t, func(r *rig) {
		r.kept.Bound(quota.Bounds{Tenants: 1, Total: 2000})
		account := r.kept.Account("acme")
		token := r.asked()
		asked := account.Total()
		if asked < int64(len(form)) {
			t.Errorf("%d bytes while it asks", asked)
		}
		r.Break("held_sup/*", "*held.relayed")
		r.say("notifications/progress", `{}`)
		r.Struck()
		if got := account.Total(); got != asked {
			t.Errorf("%d bytes after a crash, want %d", got, asked)
		}
		r.finish(jsonrpc.Response(jsonrpc.IntID(99),
			jsontext.Value(`{"content":"`+strings.Repeat("x", 900)+`"}`)))
		if got := account.Total(); got < 900 || got > 1000 {
			t.Errorf("%d bytes with its result", got)
		}
		if out := r.retry(token, `{}`, `{}`); out.Word() != "result" || account.Total() != 0 {
			t.Errorf("got %v, %d bytes are left", out.All(), account.Total())
		}
	})
	run(t, func(r *rig) {
		r.kept.Bound(quota.Bounds{Tenants: 1, Total: 2000})
		token := r.asked()
		r.kept.Account("acme").Add(quota.Tasks, 1900)
		r.ask(2, "elicitation/create", form+strings.Repeat(" ", 100))
		if got := r.answers(); len(got) != 1 || got[0].Err == nil ||
			!strings.Contains(got[0].Err.Message, "tenant acme is overloaded") {
			t.Errorf("the server was answered %v", got)
		}
		r.finish(jsonrpc.Response(jsonrpc.IntID(99),
			jsontext.Value(`{"content":"`+strings.Repeat("x", 900)+`"}`)))
		out := r.retry(token, `{}`, `{}`)
		if refusal := out.Outcome().Error; refusal == nil ||
			!strings.Contains(refusal.Message, "there was no room to keep its result") ||
			!strings.Contains(string(refusal.Data), `"maybeExecuted":true`) {
			t.Errorf("the client was told %v", out.All())
		}
		if got := r.kept.Account("acme").Total(); got != 1900 {
			t.Errorf("%d bytes are left", got)
		}
	})
}

// An actor that is abandoned releases the bytes of its call.
func TestCallThatIsGivenUpKeepsNothing(t *testing.T) {
	run(t, func(r *rig) {
		r.asked()
		for range 6 {
			r.Break("held_sup/*", "*held.relayed")
			_ = r.relay.Send(jsonrpc.Notification("notifications/progress", nil))
			r.WaitIdle()
		}
		if r.there() || r.kept.Account("acme").Total() != 0 {
			t.Errorf("there %t, %d bytes are kept", r.there(), r.kept.Account("acme").Total())
		}
	})
}
