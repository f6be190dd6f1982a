package otp

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// blocked returns a worker that stays in its first message until gate is closed.
func blocked(mailbox int) (Child, chan struct{}) {
	gate := make(chan struct{})
	return Child{ID: "a", Mailbox: mailbox,
		Start: scriptWorker(script{receive: func(_ *Process, msg any) error {
			if msg == "block" {
				<-gate
			}
			return nil
		}})}, gate
}

func TestTheBoundIsExactUnderConcurrentSenders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		child, gate := blocked(100)
		r.tree, r.err = r.sys.Start(context.Background(), "top", oneChild(child))
		ref := r.ref("a")
		_ = ref.Send("block")
		synctest.Wait()
		var wg sync.WaitGroup
		var mu sync.Mutex
		accepted, refused := 0, 0
		for range 8 {
			wg.Go(func() {
				for range 50 {
					err := ref.Send(1)
					mu.Lock()
					switch err {
					case nil:
						accepted++
					case ErrOverloaded:
						refused++
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if accepted != 100 || refused != 300 {
			t.Errorf("accepted %d, refused %d, want 100 and 300", accepted, refused)
		}
		if n := r.tree.Snapshot().Children[0].Mailbox; n != 100 {
			t.Errorf("snapshot says %d waiting", n)
		}
		if over := ofType[Overloaded](r); len(over) != 1 || over[0].Mailbox != 100 {
			t.Errorf("%d events, want one for all refusals: %+v", len(over), over)
		}
		close(gate)
		synctest.Wait()
		if err := ref.Send(1); err != nil {
			t.Errorf("after the queue was emptied: %v", err)
		}
	})
}

func TestStopFailsWhatIsLeftInTheMailbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		child, gate := blocked(0)
		r.tree, r.err = r.sys.Start(context.Background(), "top", oneChild(child))
		ref := r.ref("a")
		_ = ref.Send("block")
		left := []*failer{{}, {}, {}}
		for _, m := range left {
			_ = ref.Send(m)
		}
		go func() { _ = r.tree.Shutdown(context.Background()) }()
		synctest.Wait()
		close(gate)
		synctest.Wait()
		for i, m := range left {
			if m.err != ErrNoProc {
				t.Errorf("message %d: %v, want %v", i, m.err, ErrNoProc)
			}
		}
		if err := ref.Send(1); err != ErrNoProc {
			t.Errorf("send after stop: %v", err)
		}
		if _, err := Do[int, int](context.Background(), ref, 1); err != ErrNoProc {
			t.Errorf("call after stop: %v", err)
		}
	})
}

// Messages that protoactor sends its processes cannot resurrect or block a supervised process, or
// stop it for good.
func TestUnknownProtoactorMessagesDoNoHarm(t *testing.T) {
	for name, stray := range map[string]any{
		"restart": &actor.Restart{}, "suspend": &actor.SuspendMailbox{}, "resume": &actor.ResumeMailbox{},
		"watch": &actor.Watch{Watcher: actor.NewPID("nonhost", "nobody")},
	} {
		t.Run(name, func(t *testing.T) {
			runTree(t, oneChild(Child{ID: "a", Start: counter()}), func(t *testing.T, r *rig) {
				g := r.ref("a").row.proc.Load()
				g.mailbox.PostSystemMessage(stray)
				synctest.Wait()
				if n, err := Do[string, int](context.Background(), r.ref("a"), "x"); n != 1 || err != nil {
					t.Errorf("answer %d, %v", n, err)
				}
				if got := r.state(); got != "a#1" {
					t.Errorf("tree %s", got)
				}
			})
		})
	}
}

func TestStopFromOutsideIsAnOrdinaryExit(t *testing.T) {
	runTree(t, oneChild(Child{ID: "a", Start: counter()}), func(t *testing.T, r *rig) {
		g := r.ref("a").row.proc.Load()
		actor.NewActorProcess(&g.mailbox).Stop(nil)
		g.mailbox.PostSystemMessage(&actor.Restart{}) // protoactor alone would make a zombie here
		synctest.Wait()
		if n, err := Do[string, int](context.Background(), r.ref("a"), "x"); n != 1 || err != nil {
			t.Errorf("answer %d, %v", n, err)
		}
		if got := r.state(); got != "a#2" {
			t.Errorf("tree %s, want the permanent child restarted", got)
		}
	})
}

func TestMessagesOfProtoactorFailWhenRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		child, gate := blocked(1)
		r.tree, r.err = r.sys.Start(context.Background(), "top", oneChild(child))
		process := actor.NewActorProcess(&r.ref("a").row.proc.Load().mailbox)
		first, second, third := "block", &failer{}, &failer{}
		process.SendUserMessage(nil, first)
		synctest.Wait()
		process.SendUserMessage(nil, second)
		process.SendUserMessage(nil, third)
		if second.err != nil || third.err != ErrOverloaded {
			t.Errorf("second %v, third %v", second.err, third.err)
		}
		close(gate)
	})
}

func TestPostWaitMakesAProducerWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		child, gate := blocked(4)
		posted, ended := 0, make(chan error, 1)
		child.Start = scriptWorker(script{
			init: func(p *Process) error {
				p.Go("producer", func(ctx context.Context) error {
					for ; posted < 10; posted++ {
						if err := p.PostWait(ctx, posted); err != nil {
							ended <- err
							return err
						}
					}
					ended <- nil
					return nil
				})
				return nil
			},
			receive: func(*Process, any) error { <-gate; return nil },
		})
		r.tree, r.err = r.sys.Start(context.Background(), "top", oneChild(child))
		synctest.Wait()
		if posted != 3 { // oneChild being handled, two waiting: half of the mailbox
			t.Errorf("%d posted while the worker is stuck, want 3", posted)
		}
		for range 2 { // senders that cannot wait still find room
			if err := r.ref("a").Send("other"); err != nil {
				t.Errorf("others: %v", err)
			}
		}
		close(gate)
		synctest.Wait()
		if err := <-ended; err != nil || posted != 10 {
			t.Errorf("posted %d, %v", posted, err)
		}
	})
}

func TestPostWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		child, gate := blocked(1)
		r.tree, r.err = r.sys.Start(context.Background(), "top", oneChild(child))
		ref := r.ref("a")
		_ = ref.Send("block")
		synctest.Wait()
		_ = ref.Send(1)
		p := ref.row.proc.Load().current.Load()
		ctx, cancel := context.WithCancelCause(context.Background())
		var byContext, byEnd error
		go func() { byContext = p.PostWait(ctx, 1) }()
		go func() { byEnd = p.PostWait(context.Background(), 1) }()
		synctest.Wait()
		cancel(errTest)
		synctest.Wait()
		if byContext != errTest {
			t.Errorf("context ended: %v", byContext)
		}
		go func() { _ = r.tree.Shutdown(context.Background()) }()
		synctest.Wait()
		if byEnd != ErrNoProc {
			t.Errorf("incarnation ended: %v", byEnd)
		}
		close(gate)
		synctest.Wait()
		if err := p.Post(1); err != ErrNoProc {
			t.Errorf("post to an incarnation that is over: %v", err)
		}
		if err := p.PostWait(context.Background(), 1); err != ErrNoProc {
			t.Errorf("wait to post to it: %v", err)
		}
	})
}

// Room in the mailbox of a replaced process is of no use. PostWait ends, whether the successor has
// room or not.
func TestPostWaitEndsWithAReplacement(t *testing.T) {
	for taken := range 2 {
		old := &mailbox{limit: 2, limitCount: taken, next: &mailbox{limit: 2, limitCount: 1}}
		ended := make(chan error, 1)
		go func() { ended <- old.offerWait(context.Background(), context.Background(), 1) }()
		select {
		case err := <-ended:
			if err != ErrNoProc {
				t.Errorf("%d taken: %v", taken, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%d taken: it still waits", taken)
		}
	}
}

func TestPostReachesOnlyItsIncarnation(t *testing.T) {
	var seen []any
	start := scriptWorker(script{receive: func(p *Process, msg any) error {
		seen = append(seen, msg)
		return nil
	}})
	runTree(t, oneChild(Child{ID: "a", Start: start}), func(t *testing.T, r *rig) {
		seen = nil
		late := &failer{}
		runInActor(t, r.ref("a"), func(p *Process) error {
			_ = p.Post(late)
			return errTest
		})
		runInActor(t, r.ref("a"), func(p *Process) error { return p.Post("own") })
		if len(seen) != 1 || seen[0] != "own" {
			t.Errorf("seen %v, want only the new incarnation's own", seen)
		}
		if late.err != ErrNoProc {
			t.Errorf("the late message failed with %v", late.err)
		}
	})
}

func TestQueueGivesBurstsBack(t *testing.T) {
	var q queue[int]
	for round := range 3 {
		for i := range 1000 {
			q.push(i)
		}
		for i := range 1000 {
			if v := q.pop(); v != i {
				t.Fatalf("round %d: got %v, want %d", round, v, i)
			}
		}
		if q.trim(); len(q.ring) != 0 {
			t.Errorf("round %d: %d slots kept", round, len(q.ring))
		}
	}
	q.push(1)
	q.pop()
	if q.trim(); len(q.ring) == 0 {
		t.Error("ordinary traffic allocates each time")
	}
}

// logged collects log lines.
type logged struct {
	slog.Handler
	mu    sync.Mutex
	lines []string
}

func (l *logged) Enabled(context.Context, slog.Level) bool { return true }
func (l *logged) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := r.Message
	r.Attrs(func(a slog.Attr) bool { line += " " + a.Key + "=" + a.Value.String(); return true })
	l.lines = append(l.lines, line)
	return nil
}
func (l *logged) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l *logged) WithGroup(string) slog.Handler      { return l }

type explosive struct{}

func (explosive) Fail(error) { panic("in Fail") }

func TestCallbacksThatPanicAreLoggedAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		log := &logged{}
		r.sys = NewSystem(Options{Logger: slog.New(log).With("a", "b").WithGroup("g"),
			Events: func(Event) {
				panic("in Events")
			}})
		defer r.close()
		r.tree, r.err = r.sys.Start(context.Background(), "top",
			oneChild(Child{ID: "a", Start: scriptWorker(script{
				receive: func(*Process, any) error { panic("x") },
			})}))
		_ = r.ref("a").Send(explosive{})
		synctest.Wait()
		if got := r.state(); got != "a#2" {
			t.Errorf("tree %s", got)
		}
		log.mu.Lock()
		defer log.mu.Unlock()
		want := map[string]bool{
			"panic in callback path=top/a callback=Fail panic=in Fail":     false,
			"panic in callback path=top/a callback=Events panic=in Events": false,
		}
		for _, line := range log.lines {
			if _, ok := want[line]; !ok {
				t.Errorf("logged %q", line) // includes protoactor's own lines
			}
			want[line] = true
		}
		for line, seen := range want {
			if !seen {
				t.Errorf("not logged: %q", line)
			}
		}
	})
}

func TestDoEndsWithItsContext(t *testing.T) {
	var kept *Call[int, int]
	start := Worker(func() Behaviour {
		return &script{receive: func(_ *Process, msg any) error {
			kept = msg.(*Call[int, int])
			kept.AnswerLater()
			return nil
		}}
	})
	runTree(t, oneChild(Child{ID: "a", Start: start}), func(t *testing.T, r *rig) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := Do[int, int](ctx, r.ref("a"), 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if kept.Context().Err() == nil {
			t.Error("the callee does not see that nobody waits")
		}
		kept.Reply(1) // too late, and has no effect
	})
}

func TestTheFirstAnswerCounts(t *testing.T) {
	start := scriptWorker(script{receive: func(_ *Process, msg any) error {
		c := msg.(*Call[int, int])
		c.Reply(1)
		c.Reply(2)
		c.Fail(errTest)
		panic("after the answer")
	}})
	runTree(t, oneChild(Child{ID: "a", Start: start}), func(t *testing.T, r *rig) {
		if n, err := Do[int, int](context.Background(), r.ref("a"), 0); n != 1 || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
	})
}

func TestTheZeroRef(t *testing.T) {
	var ref Ref
	if err := ref.Send(1); err != ErrNoProc {
		t.Errorf("send: %v", err)
	}
	if ref.Path() != "" || ref.Incarnation() != 0 || ref.Alive() || !ref.IsZero() ||
		ref.String() != "" {
		t.Errorf("zero ref says %q %d %v %v", ref.Path(), ref.Incarnation(), ref.Alive(), ref.IsZero())
	}
}
