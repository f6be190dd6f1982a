package process_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mcpd/actors/process"
	"mcpd/internal/fault"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
	"mcpd/transport"
	"mcpd/transport/stdio"
)

// A program runs for its owner, is listed while it runs, and ends when the owner does.
func TestProgramEndsWithItsOwner(t *testing.T) {
	r := start(t)
	c := r.must("one")
	if got := r.list(); len(got) != 1 ||
		got[0] != (process.Info{PID: c.Pid(), Tenant: "acme", Server: "one", Owner: "top/one"}) {
		t.Errorf("list: %v", got)
	}
	other := r.must("two")
	if err := r.ref("one").Send(otp.Normal); err != nil {
		t.Fatal(err)
	}
	r.eventually("gone", func() bool { return len(r.list()) == 1 && !there(c.Pid()) })
	if !there(other.Pid()) {
		t.Error("the other owner's program is gone too")
	}
}

// An owner that starts another program, because it was restarted itself, does not need the first,
// which is ended.
func TestOwnerHasOneProgram(t *testing.T) {
	r := start(t)
	first := r.must("one")
	second := r.must("one")
	r.eventually("down to one", func() bool {
		l := r.list()
		return len(l) == 1 && l[0].PID == second.Pid()
	})
	if there(first.Pid()) || !there(second.Pid()) {
		t.Errorf("first there: %t, second there: %t", there(first.Pid()), there(second.Pid()))
	}
}

// A failed start returns an error at once. A program whose caller has given up does not stay.
func TestStartThatFails(t *testing.T) {
	r := start(t)
	if _, err := r.run(t.Context(), "one", "/nonexistent/program"); err == nil {
		t.Error("a program that is not there was started")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.cat(ctx, "one"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	r.eventually("empty", func() bool { return len(r.list()) == 0 })
}

// F15: no program notices the crash of its manager, and the next incarnation notices the end of a
// program.
func TestProgramsOutliveTheirManager(t *testing.T) {
	r := start(t)
	a, b := r.must("one"), r.must("two")
	before := r.list()
	r.breaks("")
	if _, err := otp.Do[process.ListRequest, []process.Info](t.Context(), r.ref("manager"),
		process.ListRequest{}); err == nil {
		t.Error("the message that crashed it was answered")
	}
	if got := r.list(); len(got) != 2 || got[0] != before[0] || got[1] != before[1] ||
		r.ref("manager").Incarnation() != 2 {
		t.Errorf("list: %v, want %v", got, before)
	}
	if err := syscall.Kill(a.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.eventually("noticed", func() bool { return len(r.list()) == 1 })
	if err := r.ref("two").Send(otp.Normal); err != nil {
		t.Fatal(err)
	}
	r.eventually("ended with its owner", func() bool { return len(r.list()) == 0 && !there(b.Pid()) })
}

// A manager that crashes repeatedly on its carried state starts without it. No unknown program is
// left running.
func TestNoProgramIsLeftUnknown(t *testing.T) {
	r := start(t)
	a, b := r.must("one"), r.must("two")
	f := fault.Fault{
		Action: fault.Panic, Point: fault.Point{Path: "top/manager", Kind: "process.gone"}, Count: 4,
		Lease: time.Minute,
	}
	if _, err := r.faults.Arm(f); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(a.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.eventually("without what it knew", func() bool {
		return r.ref("manager").Incarnation() == 5 && len(r.list()) == 0
	})
	r.eventually("gone", func() bool { return !there(b.Pid()) })
	if c := r.must("two"); len(r.list()) != 1 || !there(c.Pid()) {
		t.Errorf("afterwards: %v", r.list())
	}
}

// Programs that are being started when the manager crashes are delivered all the same. None is
// started without an owner, and no caller waits for ever.
func TestStartsOutliveTheManager(t *testing.T) {
	for kind, lost := range map[string]int32{
		"process.begun": 0,
		"*otp.Call[mcpd/actors/process.StartRequest,*mcpd/transport/stdio.Child]": 1,
	} {
		t.Run(kind, func(t *testing.T) {
			r := start(t)
			r.breaks(kind)
			var refused atomic.Int32
			var all sync.WaitGroup
			for _, owner := range []string{"one", "two"} {
				all.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					defer cancel()
					if _, err := r.cat(ctx, owner); err != nil {
						refused.Add(1)
					}
				})
			}
			all.Wait()
			if got := refused.Load(); got != lost || len(r.faults.Active()) != 0 {
				t.Errorf("%d refused, want %d; %d faults left", got, lost, len(r.faults.Active()))
			}
			r.eventually("in the books", func() bool { return len(r.list()) == 2-int(lost) })
		})
	}
}

// A start that three incarnations have begun and none has completed fails, because it may be the
// cause of the crashes. A start that is begun for the third time succeeds. Here a start waits while
// another program occupies the only place for starting programs.
func TestStartIsBegunThreeTimesAtMost(t *testing.T) {
	for crashes, ok := range map[int]bool{2: true, 3: false} {
		t.Run(fmt.Sprint(crashes, " crashes"), func(t *testing.T) {
			r := startWith(t, stdio.SpawnerOptions{Instance: "test", Starting: 1})
			r.must("one")
			result := make(chan error, 1)
			manager := r.ref("manager")
			// owner: the test, which waits for the result
			go func() {
				_, err := r.cat(t.Context(), "two")
				result <- err
			}()
			for n := range crashes {
				r.eventually("begun", func() bool { waiting, _ := r.spawns.Waiting(); return waiting == 1 })
				r.breaks("string")
				_ = manager.Send("crash")
				r.eventually("restarted", func() bool {
					return manager.Incarnation() == uint64(n+2) && len(r.list()) == 1
				})
			}
			switch err := <-result; {
			case ok && err != nil:
				t.Errorf("after %d crashes: %v", crashes, err)
			case !ok && (err == nil || !strings.Contains(err.Error(), "broken off too often")):
				t.Errorf("after %d crashes: %v", crashes, err)
			}
			want := 1
			if ok {
				want = 2
			}
			r.eventually("in the books", func() bool { return len(r.list()) == want })
		})
	}
}

// I7: no program is left when the manager stops for good.
func TestStopEndsEveryProgram(t *testing.T) {
	r := start(t)
	a, b := r.must("one"), r.must("two")
	if err := r.tree.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if there(a.Pid()) || there(b.Pid()) {
		t.Errorf("still there: %t, %t", there(a.Pid()), there(b.Pid()))
	}
}

// slow is a transport that takes long to close.
type slow struct {
	transport.Upstream
	closes  chan struct{} // one for each Close that began
	release chan struct{} // closed to let them return
	closed  atomic.Bool
}

func (s *slow) Close(ctx context.Context) error {
	s.closes <- struct{}{}
	select {
	case <-s.release:
		s.closed.Store(true)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (*slow) Send(context.Context, jsonrpc.Message) error { return nil }
func (*slow) Negotiated(protocol.Version)                 {}

// A released transport is closed in the background, also when the manager crashes meanwhile.
func TestTransportIsClosedOverACrash(t *testing.T) {
	r := start(t)
	up := &slow{closes: make(chan struct{}, 10), release: make(chan struct{})}
	if err := r.ref("manager").Send(&process.Release{Upstream: up, Closer: r.last}); err != nil {
		t.Fatal(err)
	}
	<-up.closes
	r.breaks("")
	_ = r.ref("manager").Send(struct{}{})
	<-up.closes
	close(up.release)
	r.eventually("closed", up.closed.Load)
	r.list()
}

// A transport on which the manager crashes, or that the manager cannot take, is closed as well.
func TestTransportIsClosedWithoutAManager(t *testing.T) {
	up := func() *slow {
		s := &slow{closes: make(chan struct{}, 10), release: make(chan struct{})}
		close(s.release)
		return s
	}
	r := start(t)
	r.breaks("*process.Release")
	crashes := up()
	if err := r.ref("manager").Send(&process.Release{Upstream: crashes, Closer: r.last}); err != nil {
		t.Fatal(err)
	}
	r.eventually("closed after the crash", crashes.closed.Load)
	r.list()

	// This one takes long to close.
	held := &slow{closes: make(chan struct{}, 1000), release: make(chan struct{})}
	if err := r.ref("manager").Send(&process.Release{Upstream: held, Closer: r.last}); err != nil {
		t.Fatal(err)
	}
	<-held.closes
	manager := r.ref("manager")
	r.giveUp()
	close(held.release)
	r.eventually("closed once the manager is gone", held.closed.Load)
	late := &process.Release{Upstream: up(), Closer: r.last}
	if err := manager.Send(late); err == nil {
		t.Fatal("there is still a manager")
	} else {
		late.Fail(err)
	}
	r.eventually("closed when there was none", late.Upstream.(*slow).closed.Load)
}

// A program that ends while there is no manager, or on whose end the manager crashes, is removed
// from the list all the same.
func TestEndInTheGapIsSeen(t *testing.T) {
	r := start(t)
	a, b := r.must("one"), r.must("two")
	r.breaks("process.gone")
	if err := syscall.Kill(a.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.eventually("restarted", func() bool { return r.ref("manager").Incarnation() == 2 })
	r.eventually("noticed", func() bool {
		list := r.list()
		return len(list) == 1 && list[0].PID == b.Pid()
	})
	if !there(b.Pid()) {
		t.Error("the other has ended")
	}
}
