package otp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/internal/fault"
)

// pages are the messages that a logbook has recorded.
type pages struct {
	mu   sync.Mutex // guards said
	said []string
}

func (s *pages) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.said)
}

// logbook records the messages that it handles and their origins, and does what they say.
type logbook struct {
	Base
	seen *pages
}

// entry is a message of an origin whose sender cannot be told about a failure.
type entry struct{ from, do string }

func (e entry) Origin() string { return e.from }

// batch is a message without an origin that has a part for each of several origins.
type batch []entry

func (l logbook) Init(p *Process) error {
	if ref, ok := p.CarriedState().(Ref); ok {
		p.Monitor(ref)
	}
	return nil
}

func (l logbook) note(format string, args ...any) {
	l.seen.mu.Lock()
	defer l.seen.mu.Unlock()
	l.seen.said = append(l.seen.said, fmt.Sprintf(format, args...))
}

func (l logbook) Receive(p *Process, msg any) error {
	switch m := msg.(type) {
	case Ref:
		p.SetCarriedState(m)
		p.Monitor(m)
	case Down:
		l.note("down")
	case entry:
		l.do(p, m)
	case batch:
		for _, e := range m {
			if !p.OnBehalf(e.from, func() { l.do(p, e) }) {
				l.note("%s skipped", e.from)
			}
		}
	case Done:
		panic("done")
	}
	return nil
}

func (l logbook) do(p *Process, e entry) {
	switch e.do {
	case "crash":
		panic("crash")
	case "hang":
		time.Sleep(time.Hour)
	case "later":
		p.After(time.Second, entry{e.from, "crash"})
	case "later hang":
		p.After(time.Second, entry{e.from, "hang"})
	case "work":
		p.GoFor(e.from, "work", func(context.Context) error { return nil })
	default:
		l.note("%s %s", e.from, e.do)
	}
}

func logbooks(t *testing.T) (r *rig, seen *pages) {
	r, seen = newRig(t), &pages{}
	r.sys.origin = func(path string) string { s, _ := strings.CutPrefix(path, "top/of-"); return s }
	var err error
	r.tree, err = r.sys.Start(context.Background(), "top", Spec{
		Intensity: Intensity{2, 5 * time.Second},
		Backoff:   Backoff{First: time.Second, Max: 5 * time.Minute, Stable: time.Minute},
		Children: []Child{
			{ID: "book", Start: Worker(func() Behaviour { return logbook{seen: seen} })},
			{ID: "of-acme", Restart: Temporary, Start: Worker(func() Behaviour { return letterbox{} })},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, seen
}

func (r *rig) book(t *testing.T, msgs ...any) {
	t.Helper()
	for _, m := range msgs {
		if err := r.ref("book").Send(m); err != nil {
			t.Errorf("%v: %v", m, err)
		}
		synctest.Wait()
	}
}

func (r *rig) charged() (origins []string) {
	for _, e := range ofType[CrashCharged](r) {
		origins = append(origins, e.Origin)
	}
	return origins
}

// A crash is charged to the origin of the part of a batch, and to the origin that a timer or a
// goroutine worked for.
func TestPartsOfMessagesHaveOrigins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, seen := logbooks(t)
		defer r.close()
		r.book(t, batch{{"acme", "one"}, {"initech", "crash"}, {"acme", "lost"}})
		r.book(t, entry{"acme", "later"})
		time.Sleep(time.Second)
		synctest.Wait()
		// three origins in a minute would make the book itself at fault
		time.Sleep(OwnFaultTime + time.Second)
		r.book(t, entry{"umbrella", "work"})
		if want := []string{"initech", "acme", "umbrella"}; !slices.Equal(r.charged(), want) {
			t.Errorf("charged to %q, want %q", r.charged(), want)
		}
		r.book(t, batch{{"acme", "two"}})
		if want := []string{"acme one", "acme two"}; !slices.Equal(seen.all(), want) {
			t.Errorf("handled %q, want %q", seen.all(), want)
		}
		time.Sleep(OwnFaultTime)
		r.book(t, batch{{"acme", "three"}}, entry{"", "crash"}) // the batch leaves no origin behind
		if got := len(r.charged()); got != 3 {
			t.Errorf("%d crashes are charged", got)
		}
	})
}

// While a child takes no message of an origin, messages that cannot be refused wait: the Down of a
// monitored row, and messages of others. They are handled afterwards. The part of a batch is
// skipped. If the child crashes for the origin later, that never counts as its own fault.
func TestMessagesOfAnOriginWaitWhileNoneIsTaken(t *testing.T) {
	for _, forgiven := range []bool{false, true} {
		t.Run(fmt.Sprint("forgiven ", forgiven), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, seen := logbooks(t)
				defer r.close()
				r.book(t, r.ref("of-acme"))
				for range MaxChargedCrashes {
					r.book(t, entry{"acme", "crash"})
				}
				_ = r.ref("of-acme").Send(poison{})
				r.book(t, entry{"acme", "waits"}, entry{"initech", "goes on"}, batch{{"acme", "part"}})
				want := []string{"initech goes on", "acme skipped"}
				if !slices.Equal(seen.all(), want) {
					t.Errorf("handled %q, want %q", seen.all(), want)
				}
				if forgiven {
					r.sys.AcceptOrigin("acme")
				} else {
					time.Sleep(FirstOriginPause)
				}
				synctest.Wait()
				rest := seen.all()[len(want):]
				if slices.Sort(rest); !slices.Equal(rest, []string{"acme waits", "down"}) {
					t.Errorf("afterwards %q", rest)
				}
				if got, want := r.state(), "book#101"; got != want {
					t.Errorf("%s, want %s", got, want)
				}
				for range 20 { // however often, although it is forgiven each time
					r.book(t, entry{"acme", "crash"})
					r.sys.AcceptOrigin("acme")
				}
				if got, want := r.state(), "book#121"; got != want {
					t.Errorf("%s, want %s", got, want)
				}
			})
		})
	}
}

// One hang is enough. It is charged to the origin of the message, also of one in an envelope.
func TestHangsAreChargedToTheirOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, seen := logbooks(t)
		defer r.close()
		r.book(t, entry{"acme", "later hang"})
		time.Sleep(time.Second + DefaultHardTimeout + 2*time.Second)
		r.book(t, entry{"acme", "waits"}, entry{"initech", "goes on"})
		if want := []string{"acme"}; !slices.Equal(r.charged(), want) {
			t.Errorf("charged to %q, want %q", r.charged(), want)
		}
		if want := []string{"initech goes on"}; !slices.Equal(seen.all(), want) {
			t.Errorf("handled %q, want %q", seen.all(), want)
		}
		time.Sleep(FirstOriginPause)
		synctest.Wait()
		if want := []string{"initech goes on", "acme waits"}; !slices.Equal(seen.all(), want) {
			t.Errorf("handled %q, want %q", seen.all(), want)
		}
		r.book(t, batch{{"acme", "hang"}})
		time.Sleep(DefaultHardTimeout + 2*time.Second)
		if want := []string{"acme", "acme"}; !slices.Equal(r.charged(), want) {
			t.Errorf("charged to %q, want %q", r.charged(), want)
		}
		time.Sleep(time.Hour) // until the stuck workers return
	})
}

// At most MaxHeldMessages messages of others wait. Further ones are dropped.
func TestHeldMessagesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, seen := logbooks(t)
		defer r.close()
		for range MaxChargedCrashes {
			r.book(t, entry{"acme", "crash"})
		}
		for range MaxHeldMessages + 10 {
			r.book(t, entry{"acme", "waits"})
		}
		time.Sleep(FirstOriginPause)
		synctest.Wait()
		if len(seen.all()) != MaxHeldMessages || len(ofType[Overloaded](r)) != 10 {
			t.Errorf("%d were handled, want %d; %d are reported as dropped", len(seen.all()),
				MaxHeldMessages,
				len(ofType[Overloaded](r)))
		}
	})
}

// An origin makes a child hang more often than processes are replaced, and is forgiven each time.
// The child is then paused, for longer each time, and continues after each pause. Neither its
// sibling nor its supervisor is affected.
func TestChildThatHangsTooOftenIsPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, seen := logbooks(t)
		defer r.close()
		for n := range MaxIsolated + 6 {
			if err := r.ref("book").Send(entry{"acme", "hang"}); err != nil {
				t.Fatalf("hang %d: %v", n, err)
			}
			time.Sleep(DefaultHardTimeout + 2*time.Second)
			if pauses := ofType[ChildPaused](r); len(pauses) > 0 {
				time.Sleep(pauses[len(pauses)-1].For)
			}
			synctest.Wait()
			r.sys.AcceptOrigin("acme")
			r.book(t, entry{"initech", fmt.Sprint(n)})
		}
		if got := len(seen.all()); got != MaxIsolated+6 {
			t.Errorf("%d messages of another were handled, want %d", got, MaxIsolated+6)
		}
		if n := len(ofType[ChildPaused](r)); n == 0 {
			t.Error("it was never paused")
		}
		if n := r.tree.Snapshot().Children[1]; n.Restarts != 0 || n.Status != Running {
			t.Errorf("its sibling: %+v", n)
		}
		time.Sleep(2 * time.Hour) // until the stuck workers return
	})
}

// A snapshot says which child is stuck while it is. It also says which child was paused, until that
// child has run for Backoff.Stable.
func TestSnapshotTellsOfTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := logbooks(t)
		defer r.close()
		is := func(when string, stuck, unstable bool, status Status) {
			t.Helper()
			synctest.Wait()
			n := r.tree.Snapshot().Children[0]
			if n.Stuck != stuck || n.Unstable != unstable || n.Status != status {
				t.Errorf("%s: stuck %t, unstable %t, %s", when, n.Stuck, n.Unstable, n.Status)
			}
		}
		is("at first", false, false, Running)
		r.book(t, entry{"acme", "hang"})
		time.Sleep(DefaultSoftTimeout + 2*time.Second)
		is("in the middle of a hang", true, false, Running)
		time.Sleep(DefaultHardTimeout)
		is("replaced", false, false, Running)
		for range 3 {
			r.book(t, entry{"", "crash"})
		}
		is("paused", false, true, Paused)
		time.Sleep(time.Second)
		is("started again", false, true, Running)
		time.Sleep(time.Minute - time.Second)
		is("nearly stable", false, true, Running)
		time.Sleep(2 * time.Second)
		is("stable", false, false, Running)
		time.Sleep(time.Hour) // until the stuck workers return
	})
}

// A fault can be limited to one origin. It then also strikes the Down of the origin's rows, and
// goroutines that work for the origin.
func TestFaultStrikesEndsAndGoroutinesOfAnOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, seen := logbooks(t)
		defer r.close()
		faults := fault.New(nil)
		faults.Attribute(r.sys.originOf)
		r.sys.faults = faults
		arm := func(place fault.Place, tenant string) {
			t.Helper()
			p := fault.Point{Place: place, Path: "top/book", Who: fault.Who{Tenant: tenant}}
			if _, err := faults.Arm(fault.Fault{Action: fault.Panic, Point: p, Count: 1,
				Lease: time.Minute}); err != nil {
				t.Fatal(err)
			}
		}
		r.book(t, r.ref("of-acme"))
		arm(fault.Receive, "acme")
		_ = r.ref("of-acme").Send(poison{})
		synctest.Wait()
		arm(fault.Routine, "initech")
		r.book(t, entry{"initech", "work"})
		if want := []string{"acme", "initech"}; !slices.Equal(r.charged(), want) ||
			len(faults.Active()) != 0 {
			t.Errorf("charged to %q, want %q; %d faults are left", r.charged(), want, len(faults.Active()))
		}
		// Both incarnations after a crash have monitored again.
		if got := seen.all(); !slices.Equal(got, []string{"down", "down"}) {
			t.Errorf("handled %q", got)
		}
	})
}
