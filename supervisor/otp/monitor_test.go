package otp

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func pair(rec *recorder, b Child) Spec {
	b.ID = "b"
	if b.Start.isZero() {
		b.Start = scriptWorker(script{})
	}
	return Spec{
		Intensity: Intensity{9, time.Hour}, Children: []Child{{ID: "a", Start: rec.start()}, b},
	}
}

func TestMonitorTellsTheTrueReason(t *testing.T) {
	for name, c := range map[string]struct {
		child Child
		end   func(*Process) error
		want  error
	}{
		"normal":     {Child{}, func(*Process) error { return Normal }, Normal},
		"error":      {Child{}, func(*Process) error { return errTest }, errTest},
		"temporary":  {Child{Restart: Temporary}, func(*Process) error { return errTest }, errTest},
		"supervisor": {Child{Start: Supervisor(Spec{})}, nil, ErrShutdown},
		"stopped":    {Child{}, nil, ErrShutdown},
		"killed":     {Child{Shutdown: BrutalKill}, nil, ErrKilled},
	} {
		t.Run(name, func(t *testing.T) {
			var got []Down
			watcher := Worker(func() Behaviour {
				return &script{receive: func(_ *Process, msg any) error {
					got = append(got, msg.(Down))
					return nil
				}}
			})
			spec := pair(&recorder{}, c.child)
			spec.Children[0].Start = watcher
			runTree(t, spec, func(t *testing.T, r *rig) {
				b := r.ref("b")
				runInActor(t, r.ref("a"), func(p *Process) error { p.Monitor(b); p.Monitor(b); return nil })
				if c.end != nil {
					runInActor(t, b, c.end)
				} else if err := TerminateChild(context.Background(), r.tree.Ref(), "b"); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				if len(got) != 1 || got[0] != (Down{b, 1, c.want}) {
					t.Errorf("got %+v, want one of incarnation 1 with %v", got, c.want)
				}
			})
		})
	}
}

func TestMonitorOfACrashCarriesTheReport(t *testing.T) {
	rec := &recorder{}
	runTree(t, pair(rec, Child{}), func(t *testing.T, r *rig) {
		runInActor(t, r.ref("a"), func(p *Process) error { p.Monitor(r.ref("b")); return nil })
		runInActor(t, r.ref("b"), func(*Process) error { panic("x") })
		rec.expect(t, "1:{top/b 1 top/b: func(*otp.Process) error: panic: x}")
	})
}

func TestMonitorOfWhatIsNotThere(t *testing.T) {
	rec := &recorder{}
	runTree(t, pair(rec, Child{Restart: Transient}), func(t *testing.T, r *rig) {
		runInActor(t, r.ref("b"), func(*Process) error { return Normal })
		runInActor(t, r.ref("a"), func(p *Process) error {
			p.Monitor(r.ref("b"))
			p.Monitor(Ref{})
			return nil
		})
		rec.expect(t, "1:{top/b 1 no process}", "1:{ 0 no process}")
	})
}

func TestMonitorDuringARestartIsOfTheNextIncarnation(t *testing.T) {
	rec := &recorder{}
	gate := make(chan struct{})
	starts := 0
	slow := Worker(func() Behaviour {
		starts++
		n := starts
		return &script{init: func(*Process) error {
			if n == 2 {
				<-gate
			}
			return nil
		}}
	})
	synctest.Test(t, func(t *testing.T) {
		gate = make(chan struct{})
		r := newRig(t)
		defer r.close()
		r.tree, r.err = r.sys.Start(context.Background(), "top", pair(rec, Child{Start: slow}))
		b := r.ref("b")
		runInActor(t, b, func(*Process) error { return errTest })
		runInActor(t, r.ref("a"), func(p *Process) error { p.Monitor(b); return nil })
		close(gate)
		rec.expect(t)
		runInActor(t, b, func(*Process) error { return Normal })
		rec.expect(t, "1:{top/b 2 normal}")
	})
}

func TestMonitorOfARowThatIsDeletedBetweenTwoIncarnations(t *testing.T) {
	rec := &recorder{}
	runTree(t, pair(rec, Child{}), func(t *testing.T, r *rig) {
		b := r.ref("b").row
		b.mark(b.owner, Restarting, time.Now()) // as between an end and the decision about it
		runInActor(t, r.ref("a"), func(p *Process) error { p.Monitor(Ref{b}); return nil })
		b.rest(b.owner, Stopped, time.Now())
		rec.expect(t, "1:{top/b 1 no process}")
	})
}

func TestDemonitor(t *testing.T) {
	rec := &recorder{}
	runTree(t, pair(rec, Child{}), func(t *testing.T, r *rig) {
		b := r.ref("b")
		runInActor(t, r.ref("a"), func(p *Process) error {
			p.Monitor(b)
			p.Demonitor(b)
			p.Demonitor(b)
			p.Monitor(Ref{})
			p.Demonitor(Ref{}) // its Down is already in the mailbox
			return nil
		})
		runInActor(t, b, func(*Process) error { return errTest })
		rec.expect(t)
	})
}

func TestMonitorsEndWithTheirIncarnation(t *testing.T) {
	rec := &recorder{}
	runTree(t, pair(rec, Child{}), func(t *testing.T, r *rig) {
		b := r.ref("b")
		runInActor(t, r.ref("a"), func(p *Process) error {
			p.Monitor(b)
			p.Link(b)
			p.Monitor(Ref{})
			return Normal
		})
		b.row.mu.Lock()
		n := len(b.row.watchers.take())
		b.row.mu.Unlock()
		if n != 0 {
			t.Errorf("%d watchers left behind", n)
		}
		rec.expect(t, "1:end normal")
	})
}

func TestLinksWorkBothWays(t *testing.T) {
	for name, c := range map[string]struct {
		who, reason string
		want        string
	}{
		"there":          {"b", "error", "a#2 b#2"},
		"here":           {"a", "error", "a#2 b#2"},
		"there normally": {"b", "normal", "a#1 b#2"},
		"here normally":  {"a", "normal", "a#2 b#1"},
		"shutdown":       {"b", "shutdown", "a#2 b#2"},
		"crash":          {"b", "crash", "a#2 b#2"},
	} {
		t.Run(name, func(t *testing.T) {
			runTree(t, pair(&recorder{}, Child{}), func(t *testing.T, r *rig) {
				runInActor(t, r.ref("a"), func(p *Process) error {
					p.Link(r.ref("b"))
					p.Link(p.Self())
					return nil
				})
				runInActor(t, r.ref(c.who), func(*Process) error { return reasons[c.reason]() })
				if got := r.state(); got != c.want {
					t.Errorf("tree %s, want %s", got, c.want)
				}
			})
		})
	}
}

func TestALinkCarriesTheReason(t *testing.T) {
	rec := &recorder{}
	runTree(t, pair(rec, Child{}), func(t *testing.T, r *rig) {
		runInActor(t, r.ref("a"), func(p *Process) error { p.Link(r.ref("b")); return nil })
		runInActor(t, r.ref("b"), func(*Process) error { return errTest })
		rec.expect(t, "1:end test")
		if n := len(r.reports()); n != 2 {
			t.Errorf("%d reports, want one of each", n)
		}
	})
}

func TestALinkToNothingEndsTheCaller(t *testing.T) {
	rec := &recorder{}
	runTree(t, pair(rec, Child{}), func(t *testing.T, r *rig) {
		runInActor(t, r.ref("a"), func(p *Process) error { p.Link(Ref{}); return nil })
		rec.expect(t, "1:end no process")
	})
}

func TestALinkToASupervisorIsOneWay(t *testing.T) {
	rec := &recorder{}
	runTree(t, pair(rec, Child{Start: Supervisor(Spec{})}), func(t *testing.T, r *rig) {
		runInActor(t, r.ref("a"), func(p *Process) error { p.Link(r.ref("b")); return errTest })
		if got := r.state(); got != "a#2 b#1{}" {
			t.Errorf("tree %s", got)
		}
		runInActor(t, r.ref("a"), func(p *Process) error { p.Link(r.ref("b")); return nil })
		if err := TerminateChild(context.Background(), r.tree.Ref(), "b"); err != nil {
			t.Error(err)
		}
		rec.expect(t, "1:end test", "2:end shutdown")
	})
}

func TestALinkOfAnIncarnationThatIsOver(t *testing.T) {
	runTree(t, pair(&recorder{}, Child{}), func(t *testing.T, r *rig) {
		var old *Process
		runInActor(t, r.ref("a"), func(p *Process) error { old = p; return Normal })
		old.Link(r.ref("b"))
		runInActor(t, r.ref("b"), func(*Process) error { return errTest })
		if got := r.state(); got != "a#2 b#2" {
			t.Errorf("tree %s", got)
		}
		if errors.Is(r.tree.Err(), ErrShutdown) {
			t.Error("ended")
		}
	})
}
