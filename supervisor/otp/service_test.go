package otp

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thejerf/suture/v4"
)

// serve is a suture service made of a function.
type serve func(ctx context.Context) error

func (s serve) Serve(ctx context.Context) error { return s(ctx) }

func service1(f serve) Start { return Service(func() (suture.Service, error) { return f, nil }) }

func TestWhatAServicesEndMeans(t *testing.T) {
	for name, c := range map[string]struct {
		end     func() error
		restart Restart
		want    string
	}{
		"nil, permanent":   {func() error { return nil }, Permanent, "s#2"},
		"nil, transient":   {func() error { return nil }, Transient, "s:stopped"},
		"error, transient": {func() error { return errTest }, Transient, "s#2"},
		"error, temporary": {func() error { return errTest }, Temporary, "no rows"},
		"panic, transient": {func() error { panic("x") }, Transient, "s#2"},
		"do not restart, transient": {func() error {
			return fmt.Errorf("done: %w", suture.ErrDoNotRestart)
		}, Transient, "s:stopped"},
		"terminate the tree": {func() error {
			return suture.ErrTerminateSupervisorTree
		}, Permanent, "ended: shutdown:giveup"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				defer r.close()
				gate, n := make(chan struct{}), 0
				start := service1(func(ctx context.Context) error {
					if n++; n > 1 {
						<-ctx.Done()
						return ctx.Err()
					}
					<-gate
					return c.end()
				})
				r.tree, r.err = r.sys.Start(context.Background(), "top", oneChild(Child{
					ID: "s", Restart: c.restart, Start: start,
				}))
				close(gate)
				synctest.Wait()
				if got := r.state(); got != c.want {
					t.Errorf("tree %s, want %s", got, c.want)
				}
			})
		})
	}
}

func TestAServicesFactoryRunsBeforeTheNextSiblingStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		_, err := r.sys.Start(context.Background(), "top", Spec{Children: []Child{
			{ID: "listener", Start: Service(func() (suture.Service, error) { return nil, errTest })},
			{ID: "next", Start: scriptWorker(script{init: func(*Process) error {
				t.Error("started")
				return nil
			}})},
		}})
		var start *StartError
		if !errors.As(err, &start) || start.Path != "top/listener" || !errors.Is(err, errTest) {
			t.Errorf("got %v", err)
		}
	})
}

func TestAStopEndsTheServicesContextAndWaits(t *testing.T) {
	runTree(t, oneChild(Child{ID: "s", Shutdown: time.Minute,
		Start: service1(func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(7 * time.Second) // time to drain
			return ctx.Err()
		})}), func(t *testing.T, r *rig) {
		start := time.Now()
		if err := r.tree.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != 7*time.Second {
			t.Errorf("took %s", took)
		}
		if n := len(ofType[Abandoned](r)); n != 0 {
			t.Errorf("%d abandoned", n)
		}
	})
}

func TestAServiceTakesNoMessages(t *testing.T) {
	wait := service1(func(ctx context.Context) error { <-ctx.Done(); return nil })
	runTree(t, oneChild(Child{ID: "s", Start: wait}), func(t *testing.T, r *rig) {
		if _, err := Do[int, int](context.Background(), r.ref("s"), 1); err != ErrUnhandled {
			t.Errorf("got %v", err)
		}
	})
}

func TestServicesOfAPoolGetArguments(t *testing.T) {
	var seen any
	start := ServiceWith(func(args any) (suture.Service, error) {
		seen = args
		return serve(func(ctx context.Context) error { <-ctx.Done(); return nil }), nil
	})
	pool := Spec{Strategy: SimpleOneForOne, Children: []Child{{Start: start}}}
	runTree(t, pool, func(t *testing.T, r *rig) {
		if _, err := StartChildArgs(context.Background(), r.tree.Ref(), "s", 7); err != nil || seen != 7 {
			t.Errorf("args %v, %v", seen, err)
		}
	})
}

// outermost serves a tree under a real suture supervisor, as main does.
func outermost(t *testing.T, s suture.Service) (stop func() error) {
	sup := suture.New("main", suture.Spec{
		EventHook:        func(suture.Event) {},
		FailureThreshold: 2, FailureDecay: 30, FailureBackoff: time.Second,
		BackoffJitter: suture.NoJitter{},
		Timeout:       time.Minute,
	})
	sup.Add(s)
	ctx, cancel := context.WithCancel(context.Background())
	done := sup.ServeBackground(ctx)
	return func() error {
		cancel()
		return <-done
	}
}

func TestATreeIsServedAgainBySuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		spec := Spec{
			Intensity: Intensity{0, time.Second},
			Children:  []Child{{ID: "a", Start: scriptWorker(script{})}},
		}
		stop := outermost(t, NewService(r.sys, "top", spec))
		for i := range 4 {
			synctest.Wait()
			runInActor(t, r.ref("a"), func(*Process) error { return errTest })
			time.Sleep(2 * time.Second) // longer than suture's backoff after the third failure
			if n := r.ref("a").Incarnation(); n != uint64(i+2) {
				t.Errorf("after failure %d: incarnation %d", i+1, n)
			}
		}
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Errorf("stopped with %v", err)
		}
		if r.ref("a").Alive() {
			t.Error("the tree outlived suture")
		}
	})
}

func TestATreeThatWasToldToStopIsNotServedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		s := NewService(r.sys, "top", Spec{})
		if got := fmt.Sprint(s); got != "top" {
			t.Errorf("named %q", got)
		}
		var err error
		go func() { err = s.Serve(context.Background()) }()
		synctest.Wait()
		_ = r.sys.trees[0].Shutdown(context.Background())
		synctest.Wait()
		if !errors.Is(err, suture.ErrDoNotRestart) {
			t.Errorf("got %v", err)
		}
	})
}

func TestARunningTreeThatGivesUpEndsSuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.start("one_for_one 0/1h { a }")
		sup := suture.New("main", suture.Spec{EventHook: func(suture.Event) {}})
		sup.Add(r.tree.Service())
		done := sup.ServeBackground(context.Background())
		r.do("crash a")
		err := <-done
		if !errors.Is(err, suture.ErrTerminateSupervisorTree) || !errors.Is(err, ErrIntensity) {
			t.Errorf("suture ended with %v", err)
		}
	})
}

func TestATreeThatDoesNotStartIsTheServicesError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		s := NewService(r.sys, "top",
			oneChild(Child{ID: "a", Start: scriptWorker(script{init: func(*Process) error {
				return errTest
			}})}))
		if err := s.Serve(context.Background()); !errors.Is(err, errTest) {
			t.Errorf("got %v", err)
		}
	})
}
