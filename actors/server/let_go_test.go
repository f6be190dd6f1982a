package server_test

import (
	"runtime"
	"testing"
	"weak"

	"mcpd/actors/internal/stage"
	"mcpd/actors/session"
)

// A session lets go of a call when it has been answered, and not only when it would have had to be: its params may be megabytes.
func TestAnsweredCallIsLetGo(t *testing.T) {
	run(t, nil, func(r *rig) {
		u := r.ready(`{}`)
		first := func() weak.Pointer[stage.Sink] { // it waits for its connection
			out := u.call()
			if out.Word() != "result" {
				t.Errorf("got %v", out.All())
			}
			return weak.Make(out)
		}()
		u.call() // what was handled last may still be at hand
		runtime.GC()
		if first.Value() != nil {
			t.Error("it is still there")
		}
	})
}

// A call keeps who its client is, and not all of what the session knew when it was made: that may be
// 256 KiB of URIs, which nobody counts once the session has others.
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
		u.ask("tools/list", `{}`) // what was handled last may still be at hand
		runtime.GC()
		if before.Value() != nil {
			t.Error("the record before is still there")
		}
	})
}
