package server_test

import (
	"runtime"
	"testing"
	"weak"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/session"
)

// A session releases a call when it has been answered, and not only at its deadline, because its
// params may be megabytes.
func TestAnsweredCallIsLetGo(t *testing.T) {
	run(t, nil, func(r *rig) {
		u := r.ready(`{}`)
		first := func() weak.Pointer[testrig.Sink] { // it waits for its connection
			out := u.call()
			if out.Word() != "result" {
				t.Errorf("got %v", out.All())
			}
			return weak.Make(out)
		}()
		u.call() // replaces references to the last message
		runtime.GC()
		if first.Value() != nil {
			t.Error("it is still there")
		}
	})
}

// A call keeps the name of its client, and not the record of the session at the time. A record may
// hold 256 KiB of URIs, which are not charged once the session has another record.
func TestCallKeepsNoRecord(t *testing.T) {
	run(t, silent, func(r *rig) {
		u := r.ready(`{}`)
		before := func() weak.Pointer[session.Record] {
			u.ask("resources/subscribe", `{"uri":"test://x"}`)
			if out := u.call(); out.Word() != "none" {
				t.Errorf("got %v", out.All())
			}
			return weak.Make(u.h.Record())
		}()
		u.ask("resources/unsubscribe", `{"uri":"test://x"}`)
		u.ask("tools/list", `{}`) // replaces references to the last message
		runtime.GC()
		if before.Value() != nil {
			t.Error("the record before is still there")
		}
	})
}
