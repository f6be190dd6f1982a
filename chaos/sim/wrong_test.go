package sim

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"mcpd/actors/tenancy"
	"mcpd/gateway/ladder"
	"mcpd/internal/fault"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// twice is the connection of a host that sends every call once more.
type twice struct {
	transport.Upstream
	again uint64
}

func (t *twice) Send(ctx context.Context, m jsonrpc.Message) error {
	if m.Method == "tools/call" {
		t.again++
		_ = t.Upstream.Send(ctx, jsonrpc.Request(jsonrpc.IntID(1_000_000+t.again), m.Method, m.Params))
	}
	return t.Upstream.Send(ctx, m)
}

// crossing is the connection of a host that gives each tool result to the latest call, whichever
// call it answers.
type crossing struct {
	transport.Upstream
	last jsonrpc.ID
}

func (c *crossing) Send(ctx context.Context, m jsonrpc.Message) error {
	if m.Method == "tools/call" {
		c.last = m.ID
	}
	return c.Upstream.Send(ctx, m)
}

func (c *crossing) Recv(ctx context.Context) (transport.Inbound, error) {
	in, err := c.Upstream.Recv(ctx)
	if strings.Contains(string(in.Message.Result), "content") && c.last != (jsonrpc.ID{}) {
		in.Message.ID, in.RequestID = c.last, c.last
	}
	return in, err
}

// armed returns a spoiler that arms a fault in an actor at each message of a kind.
func armed(action fault.Action, row, kind string) func(*simulation) {
	return func(s *simulation) {
		p := fault.Point{Place: fault.Receive, Path: "mcpd/tenants/" + row, Kind: kind}
		if _, err := s.faults.Arm(fault.Fault{Action: action, Point: p,
			Lease: fault.MaxLease}); err != nil {
			panic(err)
		}
	}
}

// unheard returns a spoiler that keeps messages of a kind from the tenant manager.
func unheard(kind string) func(*simulation) {
	return func(s *simulation) {
		p := fault.Point{Place: fault.Receive, Path: "mcpd/core/tenant_manager", Kind: kind}
		if _, err := s.faults.Arm(fault.Fault{Action: fault.Drop, Point: p,
			Lease: fault.MaxLease}); err != nil {
			panic(err)
		}
	}
}

// hasty is a spoiler that does not wait for the end of a pause.
func hasty(s *simulation) {
	s.w.Spawn("hasty", func() {
		for range 1000 {
			s.pause(time.Second)
			if s.descent.downAt.IsZero() || s.descent.put {
				continue
			}
			manager, _ := s.host.Whereis("mcpd/core/tenant_manager")
			_, _ = otp.Do[tenancy.OperateRequest, ladder.Standing](context.Background(), manager,
				tenancy.OperateRequest{Tenant: target, Verb: ladder.Release})
		}
	})
}

// A misbehaving host is found out by the invariant that it violates, and by the same seed each
// time.
func TestAWrongHostIsFoundOut(t *testing.T) {
	for name, c := range map[string]struct {
		corrupt func(*simulation)
		want    string
	}{
		"sends calls twice": {func(s *simulation) {
			s.wrap = func(up transport.Upstream) transport.Upstream { return &twice{Upstream: up} }
		}, "I13"},
		"crosses answers": {func(s *simulation) {
			s.wrap = func(up transport.Upstream) transport.Upstream { return &crossing{Upstream: up} }
		}, "I2"},
		"has no deadlines": {func(s *simulation) {
			armed(fault.Drop, target+"/request_manager", "request.expire")(s)
		}, "I1"},
		"loses outcomes": {armed(fault.Drop, bystander+"/client_sup/*", "client.inbound"), "I3"},
		"handles calls twice": {armed(fault.Duplicate, target+"/client_sup/*", "*request.Forward"),
			"I13"},
		"never asks the catalog":           {armed(fault.Drop, bystander+"/catalog", ""), "I3"},
		"never starts a tenant again":      {unheard("tenancy.passed"), "ladder"},
		"does not hear that a tenant ends": {unheard("otp.Down"), "ladder"},
		"starts a tenant at once":          {hasty, "ladder"},
		"leaves actors of sessions behind": {armed(fault.Drop, bystander+"/server_sup/*",
			"*session.Expired"), "I6"},
		"leaves a goroutine behind": {func(s *simulation) {
			s.w.Spawn("lost", func() { s.w.Wait(func() bool { return false }) })
		}, "I6"},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(100) {
				r := Run(seed, Options{corrupt: c.corrupt})
				for _, f := range r.Findings {
					if f.Invariant == c.want || strings.HasPrefix(f.Invariant, c.want+" ") {
						if again := Run(seed, Options{corrupt: c.corrupt}); again.Sum != r.Sum {
							t.Errorf("seed %d is two runs", seed)
						}
						t.Logf("seed %d: %v", seed, f)
						return
					}
				}
			}
			t.Errorf("nobody finds out that the host breaks %s", c.want)
		})
	}
}

// forgetful is a worker that answers every call but the third.
type forgetful struct {
	otp.Base
	n int
}

func (f *forgetful) Receive(_ *otp.Process, msg any) error {
	if call, ok := msg.(*otp.Call[int, int]); ok {
		if f.n++; f.n != 3 {
			call.Reply(call.Req)
		} else {
			call.AnswerLater()
		}
	}
	return nil
}

// A caller that waits for an actor that does not answer is found out as well.
func TestAWorldThatWaitsForNothingIsStuck(t *testing.T) {
	w := NewWorld(1, NewTrace(nil))
	defer w.Close()
	defer func() {
		if stuck, ok := recover().(Stuck); !ok {
			t.Errorf("got %v", stuck)
		}
	}()
	system := otp.NewSystem(otp.Options{Scheduler: w, Clock: w})
	_, err := system.Start(context.Background(), "top",
		otp.Spec{Children: []otp.Child{{ID: "f", Start: otp.Worker(func() otp.Behaviour {
			return &forgetful{}
		})}}})
	if err != nil {
		t.Fatal(err)
	}
	ref, _ := system.Whereis("top/f")
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour) // in place of the default
	defer cancel()
	for i := range 4 {
		if got, err := otp.Do[int, int](ctx, ref, i); got != i || err != nil || i == 2 {
			t.Errorf("call %d: %d, %v", i, got, err)
		}
	}
}

// A run without faults has no crashes, and takes at most a minute of virtual time more than
// settling.
func TestCalmSeedsAreCalm(t *testing.T) {
	calms := 0
	for seed := range uint64(50) {
		if r := Run(seed, Options{}); r.Faults == 0 && r.Calls > 0 {
			calms++
			if r.Crashes > 0 || r.Virtual > settling+time.Minute {
				t.Errorf("seed %d: %v", seed, fmt.Sprintf("%+v", r))
			}
		}
	}
	if calms == 0 {
		t.Error("there are none")
	}
}
