package client_test

import (
	"testing"

	"mcpd/actors/client"
	"mcpd/supervisor/otp"
)

// A connection that has ended is not ready, however it ended. Otherwise one row would be kept for
// each session with a connection of its own, and the next start would not be reported.
func TestEndedConnectionIsNotReady(t *testing.T) {
	known := &client.SharedServerState{}
	run(t, func(o *client.Options) { o.Known = known }, func(r *rig) {
		r.remotely()
		if n := known.ReadyCount(); n != 1 {
			t.Fatalf("%d ready, want 1", n)
		}
		if err := otp.TerminateChild(r.T.Context(), r.Tree.Ref(), "conn"); err != nil {
			t.Fatal(err)
		}
		if err := otp.DeleteChild(r.T.Context(), r.Tree.Ref(), "conn"); err != nil {
			t.Fatal(err)
		}
		r.WaitIdle()
		if n := known.ReadyCount(); n != 0 {
			t.Errorf("%d ready after the end", n)
		}
	})
}
