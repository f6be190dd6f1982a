package client

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/actors/client/internal/instances"
	"mcpd/actors/client/internal/interest"
	"mcpd/actors/internal/stage"
	"mcpd/actors/request"
	"mcpd/gateway/tenant"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
)

// left is a carry as a crash might leave it, and every call in it.
func left(rnd *rand.Rand, refs []otp.Ref) (*carry, []*request.Exchange) {
	c := newCarry(Options{Server: "files"})
	var calls []*request.Exchange
	for id := range uint64(6) {
		x := &request.Exchange{ID: id + 1, Session: "one", Owner: refs[0], Method: "tools/call", Downstream: jsonrpc.IntID(id), Sink: &stage.Sink{}}
		calls = append(calls, x)
		if rnd.IntN(2) == 0 {
			c.queue = append(c.queue, x)
		} else {
			c.written.Add(x)
		}
	}
	for i, ref := range refs {
		row := fmt.Sprint("session ", i)
		c.clients.attach(row, ref, false, User{})
		wants(c, interest.Event{
			Op: interest.Wish, Session: row, Level: "info", URIs: []string{"test://x"},
			Waiter: &Want{Req: Wish{Session: row}},
		})
		ask := interest.Ask{Method: "resources/subscribe", Value: fmt.Sprint("test://", i)}
		wants(c, interest.Event{Op: interest.Call, Ask: ask, Call: &request.Exchange{Session: row}})
		c.instances.Joined(instances.Server{}, ref, tenant.Key{})
	}
	return c, calls
}

func wants(c *carry, e interest.Event) {
	c.interest.Step(time.Time{}, interest.Server{}, e)
}

// Whatever a crash has done to it, what is taken over is sound: its indices agree, and every call is in it once, or gets its outcome.
func TestDamagedCarryIsSoundOrAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system := otp.NewSystem(otp.Options{})
		defer system.Close()
		box := stage.Box{}
		tree, err := system.Start(t.Context(), "top", otp.Spec{Children: []otp.Child{box.Child("a"), box.Child("b"), box.Child("c")}})
		if err != nil {
			t.Fatal(err)
		}
		var refs []otp.Ref
		for _, row := range []string{"a", "b", "c"} {
			ref, _ := system.Whereis(tree.Ref().Path() + "/" + row)
			refs = append(refs, ref)
		}
		for seed := range uint64(3000) {
			rnd := rand.New(rand.NewPCG(seed, 0))
			c, calls := left(rnd, refs)
			h := stage.Heirs{Rand: rnd, Whole: []string{"client.Options", "*request.Exchange", "*request.List"}}
			h.Damage(c)
			losses := c.repair()
			sound(t, c)
			answered := map[*request.Exchange]int{}
			for _, d := range losses {
				if b, ok := d.Waiter.(dropped); ok {
					answered[b.x]++
					d.Waiter.Fail(otp.ErrDamaged)
				}
			}
			lost := 0
			for _, x := range calls {
				switch n := len(x.Sink.(*stage.Sink).All()); {
				case n > 1, n == 1 && c.holds(x), n != answered[x]:
					t.Errorf("call %d has %d outcomes and is held: %v", x.ID, n, c.holds(x))
				case n == 0 && !c.holds(x):
					lost++
				}
			}
			if lost > 0 && !slices.ContainsFunc(h.Done, gone) {
				t.Errorf("%d calls are lost", lost)
			}
			if t.Failed() {
				t.Fatalf("seed %d: %q", seed, h.Done)
			}
		}
	})
}

// gone reports whether nothing was left of a call after that.
func gone(harm string) bool {
	return slices.Contains([]string{
		"zero carry.queue", "zero in carry.queue", "duplicate in carry.queue",
	}, harm)
}

func sound(t *testing.T, c *carry) {
	t.Helper()
	seen := map[uint64]bool{}
	for _, x := range c.written.All() {
		seen[x.ID] = true
	}
	for _, x := range c.queue {
		if !whole(x) || seen[x.ID] {
			t.Errorf("queued: %v", x)
		}
		seen[x.ID] = true
	}
	for uri, who := range c.interest.Resources() {
		if uri == "" || len(who) == 0 {
			t.Errorf("subscription to %q: %v", uri, who)
		}
	}
	for row, session := range c.clients {
		if row == "" || session.ref == (otp.Ref{}) {
			t.Errorf("session %q: %v", row, session)
		}
	}
	others := slices.SortedFunc(c.instances.All(), otp.Ref.Compare)
	if n := len(others); n > 0 && others[0].IsZero() || len(slices.Compact(others)) != n {
		t.Errorf("instances %v", others)
	}
	wants(c, interest.Event{ // no map is nil
		Op: interest.Wish, Session: "row", Level: "info", URIs: []string{"test://new"}, Waiter: &Want{},
	})
}
