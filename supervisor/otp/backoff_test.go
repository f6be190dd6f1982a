package otp

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// poison is a message of some origin that crashes its receiver.
type poison struct{ from string }

func (p poison) Origin() string { return p.from }

// letterbox counts the messages that it has handled in its carried state, and crashes on poison.
type letterbox struct{ Base }

type harmless struct{ from string }

func (h harmless) Origin() string { return h.from }

func (letterbox) Init(p *Process) error {
	if p.CarriedState() == nil {
		p.SetCarriedState(new(int))
	}
	return nil
}

func (letterbox) Receive(p *Process, msg any) error {
	switch m := msg.(type) {
	case poison:
		panic("poison of " + m.from)
	case *Call[poison, int]:
		panic("call of " + m.Req.from)
	case *Call[harmless, int]:
		n := p.CarriedState().(*int)
		*n++
		m.Reply(*n)
	}
	return nil
}

func letterboxes(t *testing.T) *rig {
	r := newRig(t)
	var err error
	r.tree, err = r.sys.Start(context.Background(), "top", Spec{
		Intensity: Intensity{2, 5 * time.Second},
		Backoff:   Backoff{First: time.Second, Max: 5 * time.Minute, Stable: time.Minute},
		Children: []Child{
			{ID: "box", Start: Worker(func() Behaviour { return letterbox{} })},
			{ID: "other", Start: Worker(func() Behaviour { return letterbox{} })},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) asks(from string) (int, error) {
	return Do[harmless, int](context.Background(), r.ref("box"), harmless{from})
}

func (r *rig) poisons(from string) error {
	_, err := Do[poison, int](context.Background(), r.ref("box"), poison{from})
	synctest.Wait()
	return err
}

// Of a thousand poisonous calls of one origin, two crash the receiver. Calls of others are handled
// meanwhile, with the carried state, and the origin is served again a second later.
func TestPoisonOfOneOriginIsRefusedAfterItsSecondCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := letterboxes(t)
		defer r.close()
		refused := 0
		for n := range 1000 {
			if errors.Is(r.poisons("acme"), ErrOriginRefused) {
				refused++
			}
			if got, err := r.asks("initech"); got != n+1 || err != nil {
				t.Fatalf("after %d: %d, %v", n, got, err)
			}
		}
		if refused != 998 {
			t.Errorf("%d of 1,000 were refused, want all but two", refused)
		}
		crash := new(CrashReport)
		if _, err := r.asks("acme"); !errors.Is(err, ErrOriginRefused) || !errors.As(err, &crash) ||
			crash != ofType[CrashCharged](r)[1].Reason {
			t.Errorf("a harmless call of the origin: %v, want the second crash behind it", err)
		}
		r.sys.AcceptOrigin("acme")
		if got, err := r.asks("acme"); got != 1001 || err != nil {
			t.Errorf("forgiven: %d, %v", got, err)
		}
		_ = r.poisons("acme")
		if _, err := r.asks("acme"); !errors.Is(err, ErrOriginRefused) {
			t.Errorf("after another crash: %v", err)
		}
		charged := ofType[CrashCharged](r)
		if len(charged) != 3 || charged[0].Origin != "acme" || charged[0].Times != 1 ||
			charged[1].Times != 2 {
			t.Errorf("charged: %+v", charged)
		}
		time.Sleep(OriginRefuseTime)
		if got, err := r.asks("acme"); got != 1002 || err != nil {
			t.Errorf("after %s: %d, %v", OriginRefuseTime, got, err)
		}
	})
}

// Three origins within a minute show that the receiver is at fault. It is paused, longer each time;
// its sibling and its supervisor are not affected.
func TestReceiverThatThreeOriginsCrashIsPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := letterboxes(t)
		defer r.close()
		if _, err := r.asks("initech"); err != nil {
			t.Fatal(err)
		}
		for _, from := range []string{"acme", "initech", "umbrella"} {
			_ = r.poisons(from)
		}
		if got, want := r.charged(), []string{"acme", "initech"}; !slices.Equal(got, want) {
			t.Errorf("charged to %q, want %q: the third shows that it is nobody's", got, want)
		}
		if _, err := r.asks("initech"); !errors.Is(err, ErrNoProc) {
			t.Errorf("paused, it answers %v", err)
		}
		if got, want := r.state(), "box:paused other#1"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		time.Sleep(time.Second + time.Millisecond)
		synctest.Wait()
		if got, err := r.asks("initech"); got != 2 || err != nil {
			t.Errorf("after the pause: %d, %v", got, err)
		}
		_ = r.poisons("acme")
		pauses := ofType[ChildPaused](r)
		if len(pauses) != 2 || pauses[0].For != time.Second || pauses[1].For != 2*time.Second {
			t.Errorf("pauses: %+v", pauses)
		}
	})
}

// Messages without an answer crash the receiver up to MaxChargedCrashes times. Each crash is
// charged to their origin.
func TestCrashesOnMessagesAreChargedHoweverMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := letterboxes(t)
		defer r.close()
		for range MaxChargedCrashes + 50 {
			_ = r.ref("box").Send(poison{"acme"})
			synctest.Wait()
		}
		if got, want := r.state(), "box#101 other#1"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if n := len(ofType[CrashCharged](r)); n != 100 {
			t.Errorf("%d were charged", n)
		}
		for range 3 { // of no origin: these crashes are the receiver's own
			_ = r.ref("box").Send(poison{})
			synctest.Wait()
		}
		if got, want := r.state(), "box:paused other#1"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// Messages in envelopes are charged too: the answer to an asynchronous call, and the Down of a
// monitored row, whose origin comes from Options.Origin. A child that requests the message it
// crashes on at each start does not loop forever.
func TestEnvelopesAndEndsHaveOrigins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.sys.origin = func(path string) string { return strings.TrimPrefix(path, "top/tenants/") }
		var err error
		r.tree, err = r.sys.Start(context.Background(), "top", Spec{
			Backoff: Backoff{First: time.Second, Max: time.Minute, Stable: time.Minute},
			Children: []Child{
				{ID: "watcher", Start: Worker(func() Behaviour { return onlooker{} })},
				{ID: "tenants", Start: Supervisor(Spec{Children: []Child{
					{ID: "acme", Restart: Temporary, Start: Worker(func() Behaviour { return letterbox{} })},
				}})},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer r.close()
		_ = r.ref("watcher").Send(r.ref("tenants/acme"))
		synctest.Wait()
		_ = r.ref("tenants/acme").Send(poison{})
		synctest.Wait()
		var origins []string
		for _, e := range ofType[CrashCharged](r) {
			origins = append(origins, e.Origin)
		}
		if want := append([]string{"by-answer"},
			slices.Repeat([]string{"acme"}, MaxChargedCrashes)...); !slices.Equal(origins, want) {
			t.Errorf("charged to %q, want by-answer and %d times acme", origins, MaxChargedCrashes)
		}
	})
}

// onlooker monitors and calls a given Ref, and crashes on each message that comes back.
type onlooker struct{ Base }

func (onlooker) Receive(p *Process, msg any) error {
	switch m := msg.(type) {
	case Ref:
		p.SetCarriedState(m)
		CallAsync(p, m, harmless{}, func(int, error) any { return poison{"by-answer"} })
	case poison, Down:
		panic("crash")
	}
	return nil
}

func (onlooker) Init(p *Process) error {
	if ref, ok := p.CarriedState().(Ref); ok {
		p.Monitor(ref)
	}
	return nil
}

// A single origin never makes a child count as faulty itself, whatever the sequence of its crashes.
// Three origins within OwnFaultTime always do.
func TestChargesTellTheChildFromItsOrigins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c charges
		now := time.Unix(0, 0)
		last, holds := map[string]time.Time{}, map[string]time.Duration{}
		for range rapid.IntRange(1, 100).Draw(t, "crashes") {
			now = now.Add(rapid.SampledFrom([]time.Duration{0, time.Second, 9 * time.Second,
				40 * time.Second}).Draw(t, "pause"))
			o := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "origin")
			before, seen := last[o]
			last[o] = now
			recent := 0
			for _, at := range last {
				if now.Sub(at) <= OwnFaultTime {
					recent++
				}
			}
			hang := rapid.IntRange(0, 9).Draw(t, "hang") == 0
			times, hold := c.add(now, o, hang)
			own := c.own()
			if held := hold > 0; held != (hang || times >= MaxChargedCrashes) || hold > MaxOriginPause {
				t.Fatalf("hang %t, %d times: it takes no message for %s", hang, times, hold)
			}
			if want := recent >= OwnFaultOrigins; want != own {
				t.Fatalf("%d origins within %s: own fault is %t", recent, OwnFaultTime, own)
			}
			if again := seen && now.Sub(before) <= CrashRepeatTime+holds[o]; times > 1 && !again ||
				!own && again && times == 1 {
				t.Fatalf("%s after the last of %q: %d times", now.Sub(before), o, times)
			}
			holds[o] = c[len(c)-1].hold
		}
	})
}

// A panic in a goroutine that runs on behalf of an origin is charged to the origin, and the worker
// continues.
func TestGoroutineIsChargedToItsOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var err error
		r.tree, err = r.sys.Start(context.Background(), "top", Spec{
			Intensity: Intensity{0, time.Second},
			Backoff:   Backoff{First: time.Second, Max: time.Minute, Stable: time.Minute},
			Children:  []Child{{ID: "box", Start: Worker(func() Behaviour { return delegator{} })}},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer r.close()
		_ = r.ref("box").Send("go")
		synctest.Wait()
		if charged := ofType[CrashCharged](r); len(charged) != 1 || charged[0].Origin != "acme" {
			t.Errorf("charged: %+v", charged)
		}
		if got, want := r.state(), "box#2"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// delegator starts a goroutine that panics on behalf of acme.
type delegator struct{ Base }

func (delegator) Receive(p *Process, _ any) error {
	p.GoFor("acme", "work", func(context.Context) error { panic("crash") })
	return nil
}
