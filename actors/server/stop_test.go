package server_test

import (
	"testing"
	"time"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/request"
	"mcpd/actors/server"
	"mcpd/actors/session"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/telemetry"
)

// everybody sends a message to every session.
func (r *rig) everybody(msg any) {
	r.index.Each(func(h *session.Handle) bool { _ = h.Send(msg); return true })
	r.WaitIdle()
}

// busy reports whether a request of any session has no outcome yet.
func (r *rig) busy() (busy bool) {
	r.index.Each(func(h *session.Handle) bool { busy = h.InFlight(); return !busy })
	return busy
}

// If a client waits for a starting server when the host stops, it is told so in the form of its
// era, and that nothing was executed. An acknowledged subscription goes on until HangUp.
func TestHostThatStopsAnswersWhatWaitsForServers(t *testing.T) {
	run(t, func(r *rig) { r.script["files"]["initialize"] = nil }, func(r *rig) {
		aggregate := r.caller(`{}`)
		listens := aggregate.ask("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`)
		time.Sleep(server.AggregateWait)
		if granted(listens) == "none" || r.busy() {
			t.Fatalf("listening %v, busy %t, want a confirmed subscription, which nobody waits for",
				listens.All(), r.busy())
		}
		alone := r.caller(`{}`)
		alone.server = "files"
		opens := r.open("ci", "files")
		waiting := map[string]*testrig.Sink{
			"initialize":     opens.ask("initialize", greeting("2025-11-25", `{}`)),
			"list alone":     alone.ask("tools/list", ""),
			"discover alone": alone.ask("server/discover", ""),
			"call alone":     alone.ask("tools/call", `{"name":"read"}`),
			"listen alone": alone.ask("subscriptions/listen",
				`{"notifications":{"toolsListChanged":true}}`),
			"list": r.caller(`{"roots":{}}`).ask("tools/list", ""),
			"call": aggregate.call(),
		}
		if !r.busy() {
			t.Error("nothing is in flight")
		}
		r.everybody(session.Stop{})
		if err := r.Ref("requests").Send(&request.Stop{}); err != nil {
			t.Fatal(err)
		}
		r.WaitIdle()
		for name, out := range waiting {
			code, which := int64(jsonrpc.CodeInternal), `"server":"files",`
			switch name {
			case "initialize":
				code = protocol.CodeTransport
			case "list":
				which = ""
			}
			want := `{"reason":"stopping",` + which + `"maybeExecuted":false,"retryable":true}`
			if got := out.Outcome().Error; len(out.All()) != 1 || got == nil || got.Code != code ||
				string(got.Data) != want {
				t.Errorf("%s: %v %v, want one %d %s", name, out.All(), got, code, want)
			}
		}
		if r.busy() {
			t.Error("something is in flight that has its answer")
		}
		if listens.Word() != "none" {
			t.Errorf("the subscription: %v", listens.All())
		}
		r.everybody(session.HangUp{})
		if listens.Word() != "result" {
			t.Errorf("the subscription: %v", listens.All())
		}

		r.script["files"]["initialize"] = offers(all)
		for len(r.peers["files"]) > 0 {
			r.peer("files").Close()
		}
		time.Sleep(10 * time.Second)
		if n := len(testrig.Of[telemetry.SessionOpened](&r.Events)); n != 0 || opens.h.Record() != nil {
			t.Errorf("%d sessions were opened that nobody knows of", n)
		}
		opens.left("a handshake that the host refused because it stops")
	})
}
