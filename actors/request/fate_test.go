package request_test

import (
	"strings"
	"testing"
	"time"

	"mcpd/actors/request"
)

// A client without a response gets a true error. A request that its connection had not written was
// not executed, and is not written afterwards; a written one may have been executed. A read-only
// request may be retried in both cases.
func TestEndsSayWhetherTheRequestWasWritten(t *testing.T) {
	ends := map[string]func(r *rig){
		"deadline":         func(r *rig) { time.Sleep(10 * time.Second) },
		"stop":             func(r *rig) { r.send(&request.Stop{}) },
		"end of a session": func(r *rig) { r.send(&request.CancelOwner{Session: "s"}) },
		"end of the manager": func(r *rig) {
			if err := r.Tree.Shutdown(r.T.Context()); err != nil {
				r.T.Error(err)
			}
		},
	}
	for name, end := range ends {
		for _, c := range []struct {
			method string
			queued bool
			want   string
		}{
			{"tools/call", true, `"maybeExecuted":false,"retryable":true`},
			{"tools/call", false, `"maybeExecuted":true,"retryable":false`},
			{"tools/list", true, `"maybeExecuted":false,"retryable":true`},
			{"tools/list", false, `"maybeExecuted":true,"retryable":true`},
		} {
			run(t, func(r *rig) {
				r.method, r.queues = c.method, c.queued
				x, out := r.submit("s")
				end(r)
				if out.Word() == "none" || !strings.Contains(string(out.All()[0].Error.Data), c.want) {
					t.Errorf("%s of %+v: %v", name, c, out.All())
				}
				if x.Write() {
					t.Errorf("%s of %+v: it may be written afterwards", name, c)
				}
			})
		}
	}
}

// A connection that has written nothing after all takes its claim back. An exchange that has ended
// cannot be claimed.
func TestClaimsOfAnExchange(t *testing.T) {
	var x request.Exchange
	for range 2 {
		if !x.Write() {
			t.Error("an attempt to write is refused")
		}
	}
	x.Unwrite()
	if x.BeginEnd() {
		t.Error("may have been executed, and was not written")
	}
	if x.Write() {
		t.Error("written after its end")
	}
	var y request.Exchange
	y.Write()
	for range 2 {
		if !y.BeginEnd() {
			t.Error("was written, and not executed")
		}
	}
}
