package tenancy_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/storage"
	"mcpd/actors/tenancy"
	"mcpd/gateway/ladder"
	"mcpd/store"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a host with a real tenant manager. A tenant is a supervisor over one worker, which ends on
// the message "crash". Two crashes within a minute end the tenant.
type rig struct {
	*testrig.Rig
	board   *ladder.Board
	names   []string
	resumed []string

	writes time.Duration // how long a write takes

	mu     sync.Mutex // guards stored
	stored map[string]jsontext.Value
}

func (r *rig) Apply(changes []store.Change) error {
	time.Sleep(r.writes)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range changes {
		if c.Bucket == store.Tenants && c.Value == nil {
			delete(r.stored, c.Key)
		} else if c.Bucket == store.Tenants {
			r.stored[c.Key] = c.Value
		}
	}
	return nil
}

func (r *rig) Has(_ store.Bucket, key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stored[key] != nil
}

func (*rig) Verify() error { return nil }
func (*rig) Sync() error   { return nil }

type worker struct{ otp.Base }

func (worker) Receive(_ *otp.Process, msg any) error {
	if msg == "hang" {
		time.Sleep(4 * time.Second)
		return nil
	}
	return errors.New("crash")
}

func tenant(name string) otp.Child {
	return otp.Child{ID: name, Restart: otp.Transient, Start: otp.Supervisor(otp.Spec{
		Intensity: otp.Intensity{Restarts: 1, Within: time.Minute},
		Children: []otp.Child{{ID: "worker", Start: otp.Worker(func() otp.Behaviour {
			return worker{}
		})}},
	})}
}

// run starts such a host with the tenants acme and globex, with the states that an earlier host has
// stored.
func run(t *testing.T, stored map[string]jsontext.Value, test func(r *rig)) {
	t.Helper()
	r := &rig{board: &ladder.Board{}, names: []string{"acme", "globex"}, stored: maps.Clone(stored)}
	if r.stored == nil {
		r.stored = map[string]jsontext.Value{}
	}
	testrig.Run(t, func(s *testrig.Rig) []otp.Child {
		r.Rig = s
		at := func(row string) otp.Ref { ref, _ := s.System.Whereis("top/" + row); return ref }
		o := tenancy.Options{
			Board: r.board, Tenants: func() []string { return r.names },
			Supervisor: func() otp.Ref { return at("tenants") }, Child: tenant,
			Starting: func(string) {},
			Resumed:  func(name string) { r.resumed = append(r.resumed, name) },
			Storage:  func() otp.Ref { return at("storage") },
			Stored:   iter.Seq2[string, jsontext.Value](maps.All(stored)), Emit: s.Events.Emit,
		}
		return []otp.Child{
			{ID: "storage", Start: otp.Worker(func() otp.Behaviour {
				return storage.New(storage.Options{Store: r, Emit: s.Events.Emit})
			})},
			{ID: "manager", Start: otp.Worker(func() otp.Behaviour { return tenancy.New(o) })},
			{ID: "tenants", Start: otp.SupervisorFunc(func() (spec otp.Spec) {
				for _, name := range r.names {
					if s := r.board.Of(name); s.Runs() {
						spec.Children = append(spec.Children, tenant(name))
					}
				}
				return spec
			})},
		}
	}, func(*testrig.Rig) {
		r.wait(time.Second) // until the manager has found them
		test(r)
	})
}

func (r *rig) wait(d time.Duration) {
	time.Sleep(d)
	r.WaitIdle()
}

func (r *rig) runs(name string) bool {
	ref, ok := r.System.Whereis("top/tenants/" + name)
	return ok && ref.Alive()
}

// ends makes a tenant exceed its failure budget.
func (r *rig) ends(name string) {
	r.T.Helper()
	r.Send("tenants/"+name+"/worker", "crash")
	r.Send("tenants/"+name+"/worker", "crash")
	if r.runs(name) {
		r.T.Fatalf("%s has not ended", name)
	}
}

func (r *rig) operates(name string, verb ladder.Verb) (ladder.Standing, error) {
	r.T.Helper()
	s, err := testrig.Ask[tenancy.OperateRequest, ladder.Standing](r.Rig, "manager",
		tenancy.OperateRequest{Tenant: name, Verb: verb})
	r.WaitIdle()
	return s, err
}

// untouched checks that no other row was restarted.
func (r *rig) untouched() {
	r.T.Helper()
	for _, n := range r.Tree.Snapshot().Children {
		if n.Restarts > 0 {
			r.T.Errorf("%s: %d restarts", n.Path, n.Restarts)
		}
		for _, c := range n.Children {
			if c.ID == "globex" && c.Incarnation != 1 {
				r.T.Errorf("%s: incarnation %d", c.Path, c.Incarnation)
			}
		}
	}
}

// This is the whole ladder: pauses that double, quarantine, a probe that fails, one that lasts. The
// other tenant, and the rows above both, notice nothing.
func TestTenantClimbsTheLadder(t *testing.T) {
	run(t, nil, func(r *rig) {
		pause := ladder.FirstPause
		for range ladder.MaxEnds - 1 {
			r.ends("acme")
			r.wait(pause - time.Millisecond)
			if r.runs("acme") {
				t.Fatalf("it runs before %s are over", pause)
			}
			r.wait(time.Millisecond)
			if !r.runs("acme") {
				t.Fatalf("it does not run after %s", pause)
			}
			pause = min(2*pause, ladder.LastPause)
		}
		r.ends("acme")
		if s := r.board.Of("acme"); s.State != ladder.Quarantined || s.Incident == "" ||
			s.Ends != ladder.MaxEnds {
			t.Errorf("after %d ends: %+v", ladder.MaxEnds, s)
		}
		r.wait(ladder.FirstProbe)
		if s := r.board.Of("acme"); s.State != ladder.Probing || !r.runs("acme") {
			t.Errorf("probed: %+v", s)
		}
		r.ends("acme")
		if s := r.board.Of("acme"); s.State != ladder.Quarantined || s.Pause != 2*ladder.FirstProbe {
			t.Errorf("after a probe that failed: %+v", s)
		}
		r.wait(2*ladder.FirstProbe + ladder.Stable)
		if s := r.board.Of("acme"); !s.Clean() || !r.runs("acme") || r.Has(store.Tenants, "acme") {
			t.Errorf("after a probe that lasted: %+v", s)
		}
		if n := len(testrig.Of[telemetry.TenantPaused](&r.Events)); n != ladder.MaxEnds-1 {
			t.Errorf("told of %d pauses", n)
		}
		if n := len(testrig.Of[telemetry.TenantQuarantined](&r.Events)); n != 2 {
			t.Errorf("told of %d quarantines", n)
		}
		if n := len(r.resumed); n != ladder.MaxEnds+1 {
			t.Errorf("sessions were woken %d times", n)
		}
		r.untouched()
	})
}

// Two messages of a tenant that crash a shared component stop the tenant.
func TestChargedTenantIsPaused(t *testing.T) {
	run(t, nil, func(r *rig) {
		charge := tenancy.Charged{Tenant: "acme", Why: ladder.Why{Cause: "poison", Incident: "abc"}}
		r.Send("manager", charge)
		if !r.runs("acme") {
			t.Error("it is stopped for one crash")
		}
		for range 100 {
			r.Send("manager", charge)
		}
		if s := r.board.Of("acme"); r.runs("acme") || s.State != ladder.Paused || s.Ends != 1 ||
			s.Incident != "abc" {
			t.Errorf("runs %t, %+v", r.runs("acme"), s)
		}
		r.wait(ladder.FirstPause)
		if !r.runs("acme") {
			t.Error("it is not back after its pause")
		}
		r.untouched()
	})
}

// A command of an operator is executed at once, and survives the manager and the host.
func TestOperatorPutsATenantAway(t *testing.T) {
	var stored map[string]jsontext.Value
	run(t, nil, func(r *rig) {
		if s, err := r.operates("acme", ladder.Quarantine); err != nil || s.State != ladder.Quarantined ||
			r.runs("acme") {
			t.Errorf("quarantined: %+v, %v, runs %t", s, err, r.runs("acme"))
		}
		if _, err := r.operates("acme", ladder.Restart); !errors.Is(err, tenancy.ErrPutAway) {
			t.Errorf("restarted: %v", err)
		}
		if _, err := r.operates("nobody", ladder.Restart); !errors.Is(err, tenancy.ErrNoTenant) {
			t.Errorf("nobody: %v", err)
		}
		r.Break("manager", "")
		r.Send("manager", tenancy.Reconfigured{})
		r.wait(24 * time.Hour)
		if r.runs("acme") {
			t.Error("it runs after a day")
		}
		stored = maps.Clone(r.stored)
	})
	run(t, stored, func(r *rig) {
		if r.runs("acme") || !r.runs("globex") {
			t.Errorf("in the next host: acme runs %t, globex %t", r.runs("acme"), r.runs("globex"))
		}
		if s, err := r.operates("acme", ladder.Release); err != nil || !s.Runs() || !r.runs("acme") ||
			r.Has(store.Tenants, "acme") {
			t.Errorf("released: %+v, %v, runs %t", s, err, r.runs("acme"))
		}
		before, _ := r.System.Whereis("top/tenants/acme/worker")
		inc := before.Incarnation()
		if s, err := r.operates("acme", ladder.Restart); err != nil || !s.Runs() || !r.runs("acme") ||
			before.Incarnation() != inc+1 {
			t.Errorf("restarted: %+v, %v, incarnation %d", s, err, before.Incarnation())
		}
	})
}

// An operator gets the reply as soon as the decision is stored, however long the tenant takes to
// stop. The board shows the operation in progress.
func TestOperatorDoesNotWaitForATenantThatHangs(t *testing.T) {
	run(t, nil, func(r *rig) {
		before := r.Ref("tenants/acme/worker")
		for _, verb := range []ladder.Verb{ladder.Restart, ladder.Quarantine} {
			if err := r.Ref("tenants/acme/worker").Send("hang"); err != nil {
				t.Fatal(err)
			}
			r.WaitIdle()
			begin := time.Now()
			s, err := testrig.Ask[tenancy.OperateRequest, ladder.Standing](r.Rig, "manager",
				tenancy.OperateRequest{Tenant: "acme", Verb: verb})
			if took := time.Since(begin); took > time.Second || err != nil ||
				s.Runs() == (verb == ladder.Quarantine) {
				t.Errorf("%s: answered after %v: %+v, %v", verb, took, s, err)
			}
			if got := r.board.Move("acme"); got != ladder.Stopping {
				t.Errorf("%s: under way is %q, want %q", verb, got, ladder.Stopping)
			}
			r.wait(10 * time.Second)
			if got := r.board.Move("acme"); got != "" || r.runs("acme") == (verb == ladder.Quarantine) {
				t.Errorf("%s: under way is %q in the end, it runs %t", verb, got, r.runs("acme"))
			}
		}
		if before.Alive() {
			t.Error("it was not stopped")
		}
	})
}

// If the manager crashes while an operator waits, its next incarnation replies, and a tenant that
// was to be restarted is restarted.
func TestOperatorIsAnsweredAfterACrashOfTheManager(t *testing.T) {
	for _, verb := range []ladder.Verb{ladder.Quarantine, ladder.Restart} {
		run(t, nil, func(r *rig) {
			inc := r.Ref("tenants/acme/worker").Incarnation()
			r.writes = 3 * time.Second
			answer := make(chan error, 1)
			go func() { // owner: the test reads its answer
				ctx, cancel := context.WithTimeout(r.T.Context(), 10*time.Second)
				defer cancel()
				_, err := otp.Do[tenancy.OperateRequest, ladder.Standing](ctx, r.Ref("manager"),
					tenancy.OperateRequest{Tenant: "acme", Verb: verb})
				answer <- err
			}()
			r.WaitIdle()
			r.Break("manager", "")
			r.Send("manager", tenancy.Reconfigured{})
			if err := <-answer; err != nil {
				t.Errorf("%s: %v", verb, err)
			}
			r.wait(10 * time.Second)
			if restarted := r.runs("acme") &&
				r.Ref("tenants/acme/worker").Incarnation() > inc; restarted != (verb == ladder.Restart) {
				t.Errorf("%s: runs %t, restarted %t", verb, r.runs("acme"), restarted)
			}
			if r.Has(store.Tenants, "acme") != (verb == ladder.Quarantine) {
				t.Errorf("%s: stored %s", verb, r.stored)
			}
		})
	}
}

// A pause continues in the next host, and so does the count of ends.
func TestPauseGoesOnInTheNextHost(t *testing.T) {
	var stored map[string]jsontext.Value
	run(t, nil, func(r *rig) {
		for range 5 {
			r.ends("acme")
			r.wait(16 * time.Second)
		}
		r.ends("acme")
		stored = maps.Clone(r.stored)
	})
	if len(stored) != 1 {
		t.Fatalf("stored: %s", stored)
	}
	run(t, stored, func(r *rig) {
		if r.runs("acme") || !r.runs("globex") {
			t.Errorf("acme runs %t, globex %t", r.runs("acme"), r.runs("globex"))
		}
		r.wait(32 * time.Second)
		if s := r.board.Of("acme"); !r.runs("acme") || s.Ends != 6 {
			t.Errorf("runs %t, %+v", r.runs("acme"), s)
		}
	})
}

// A crash of the tenants' own supervisor does not count as an end of the tenants.
func TestEndOfTheSupervisorIsNoEndOfTheTenants(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.Break("tenants", "")
		_, _ = otp.CountChildren(r.T.Context(), r.Ref("tenants"))
		r.wait(2 * time.Second)
		if s := r.board.Of("acme"); !r.runs("acme") || !s.Clean() {
			t.Errorf("runs %t, %+v", r.runs("acme"), s)
		}
		r.ends("acme")
		r.wait(ladder.FirstPause)
		if !r.runs("acme") {
			t.Error("it is not back")
		}
	})
}

// A tenant that is no longer configured is dropped; a new one is followed.
func TestTenantsComeAndGo(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.ends("acme")
		r.names = []string{"globex", "umbrella"}
		if _, err := otp.StartChild(r.T.Context(), r.Ref("tenants"), tenant("umbrella")); err != nil {
			t.Fatal(err)
		}
		r.Send("manager", tenancy.Reconfigured{})
		r.wait(time.Minute)
		if r.runs("acme") || r.Has(store.Tenants, "acme") {
			t.Error("it was started again")
		}
		r.ends("umbrella")
		r.wait(ladder.FirstPause)
		if !r.runs("umbrella") {
			t.Error("the new one is not followed")
		}
	})
}

// A stored state is valid or dropped.
func TestStoredStandingIsSoundOrDropped(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]ladder.State{
		`{"state":"paused","since":"2026-01-01T00:00:00Z","times":1,"gap_ns":1000000000,"until":"2026-01-01T00:00:01Z"}`: ladder.Paused,
		`{"state":"probing","since":"2025-12-31T23:59:30Z","times":11,"gap_ns":600000000000}`:                            ladder.Quarantined,
		`{"state":"quarantined","since":"2025-12-01T00:00:00Z","operator":true}`:                                         ladder.Quarantined,
		// The pause does not last for years.
		`{"state":"paused","since":"2026-01-01T00:00:00Z","times":1,"gap_ns":1000000000,"until":"2030-01-01T00:00:00Z"}`: ladder.Paused,
		`{"state":"paused"}`: "",
		`{"state":"asleep"}`: "",
		`{"state":"running","times":3,"since":"2099-01-01T00:00:00Z"}`: ladder.Running,
		`7`: "",
	} {
		s, err := tenancy.Parse(jsontext.Value(text), now)
		if (err == nil) != (want != "") || s.State != want {
			t.Errorf("%s: %+v, %v", text, s, err)
		}
		if err == nil && !s.Operator && s.Wait(now) > ladder.LastProbe {
			t.Errorf("%s: waits %s", text, s.Wait(now))
		}
	}
}
