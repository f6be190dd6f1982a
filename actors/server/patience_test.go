package server_test

import (
	"testing"
	"time"
)

// One request never waits longer than list_wait, however often it looks: a modern list looks for what is offered, and then for the list.
func TestWaitsOfOneRequestAddUp(t *testing.T) {
	run(t, func(r *rig) { mute(r, "files"); mute(r, "search") }, func(r *rig) {
		out := r.caller(`{}`).ask("tools/list", "")
		time.Sleep(r.tenant.Limits.ListWait)
		r.Rest()
		if len(out.All()) == 0 {
			t.Error("no answer within list_wait")
		}
	})
}
