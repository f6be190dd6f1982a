package held_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"mcpd/actors/internal/testrig"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// Without an actor all messages go to the client.
func TestRelayPassesOn(t *testing.T) {
	stand(t, func(r *rig) {
		if _, ok := r.relay.Actor(); ok || r.relay.Filters() || !r.relay.Carries(r.out) ||
			r.relay.Carries(&testrig.Sink{}) {
			t.Error("it has an actor, or is another request's")
		}
		r.say("notifications/progress", `{}`)
		r.finish(done)
		r.finish(done)
		if len(r.out.Sent()) != 1 || len(r.out.All()) != 1 {
			t.Errorf("got %v and %v", r.out.Sent(), r.out.All())
		}
		if err := r.relay.Send(jsonrpc.Notification("notifications/progress", nil)); !errors.Is(err,
			transport.ErrClosed) {
			t.Errorf("after the end: %v", err)
		}
		if r.relay.Holding() {
			t.Error("a call that is over is held")
		}
		if _, err := r.attach(); err == nil {
			t.Error("an actor was started for it")
		}
	})
}

// An outcome that comes while the actor is being started goes to the actor. If no actor starts, it
// goes to the client.
func TestOutcomeWaitsForTheActor(t *testing.T) {
	stand(t, func(r *rig) {
		r.relay.Holding()
		r.say("notifications/progress", `{}`)
		r.finish(done)
		if r.out.Word() != "none" || len(r.out.Sent()) != 0 {
			t.Errorf("got %v, %v", r.out.All(), r.out.Sent())
		}
		if _, err := r.attach(); err != nil {
			t.Error(err)
		}
		if r.WaitIdle(); r.out.Word() != "result" || r.there() {
			t.Errorf("got %v, there %t", r.out.All(), r.there())
		}
		r.relay.Release() // too late to have an effect
	})
	stand(t, func(r *rig) {
		r.relay.Holding()
		r.relay.Release()
		r.say("notifications/progress", `{}`)
		r.relay.Holding()
		r.finish(done)
		r.relay.Release()
		if r.out.Word() != "result" || len(r.out.Sent()) != 1 {
			t.Errorf("got %v, %v", r.out.All(), r.out.Sent())
		}
	})
}

// A client that left while the actor was being started is sent nothing, and the actor ends.
func TestClientLeavesBeforeTheActor(t *testing.T) {
	stand(t, func(r *rig) {
		r.relay.Holding()
		r.finish(jsonrpc.Message{})
		if _, err := r.attach(); err != nil {
			t.Error(err)
		}
		if r.WaitIdle(); r.out.Word() != "cancelled" || r.there() {
			t.Errorf("got %v, there %t", r.out.All(), r.there())
		}
	})
}

// A call that is cancelled between its rounds, while no client waits, answers its server.
func TestCallIsCalledOffBetweenRounds(t *testing.T) {
	run(t, func(r *rig) {
		token := r.asked()
		r.finish(jsonrpc.Message{})
		if got := r.answers(); len(got) != 1 {
			t.Errorf("answered %v", got)
		}
		if out := r.retry(token, `{"elicit-1":`+yes+`}`, `{}`); out.Word() != int64(-32602) {
			t.Errorf("then %v", out.All())
		}
	})
}

// In whatever order the actor, the outcome and a failed start come, the client gets one outcome.
func TestRelayRaces(t *testing.T) {
	for range 50 {
		stand(t, func(r *rig) {
			r.relay.Holding()
			var group sync.WaitGroup
			for _, f := range []func(){
				func() { _, _ = r.attach() },
				func() { r.relay.Finish(done) },
				func() { _ = r.relay.Send(jsonrpc.Notification("notifications/progress", nil)) },
				func() { r.relay.Release() },
				func() { r.relay.Filters(); r.relay.Actor(); r.relay.Holding() },
			} {
				group.Go(f)
			}
			group.Wait()
			time.Sleep(time.Second)
			if len(r.out.All()) == 0 { // held anew after the failure, and no actor comes
				r.relay.Release()
			}
			if len(r.out.All()) != 1 || r.out.Word() != "result" || r.there() {
				t.Errorf("got %v, there %t", r.out.All(), r.there())
			}
		})
	}
}
