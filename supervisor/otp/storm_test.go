package otp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// storm is a tree whose workers randomly crash, call Goexit and hang, in Init, Receive and
// Terminate. Callbacks of their supervisors do the same.
type storm struct {
	mu     sync.Mutex // guards the fields below
	random *rand.Rand
	calm   bool
	gates  []chan struct{}
}

// whim is what a worker does next.
type whim uint8

const (
	obey whim = iota
	crash
	exits
	refuse
	hangs
)

// draw returns a random whim: one in n is another than obey.
func (s *storm) draw(n int) (whim, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calm || s.random.IntN(n) != 0 {
		return obey, nil
	}
	w := whim(1 + s.random.IntN(int(hangs)))
	if w != hangs {
		return w, nil
	}
	gate := make(chan struct{})
	s.gates = append(s.gates, gate)
	return w, gate
}

// act performs a whim.
func (s *storm) act(n int) error {
	switch w, gate := s.draw(n); w {
	case crash:
		panic("storm")
	case exits:
		runtime.Goexit()
	case refuse:
		return errTest
	case hangs:
		<-gate
		return s.act(2) // and then another whim
	}
	return nil
}

// release lets the workers that hang continue, except one in n.
func (s *storm) release(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var stay []chan struct{}
	for _, gate := range s.gates {
		if n > 0 && s.random.IntN(n) == 0 {
			stay = append(stay, gate)
		} else {
			close(gate)
		}
	}
	s.gates = stay
}

// bequest is carried state whose Abandon performs a whim, on the supervisor's goroutine.
type bequest struct{ s *storm }

func (b bequest) Abandon(error) { _ = b.s.act(12) }

// plea is a message whose Fail may end the goroutine that calls it.
type plea struct {
	parcelled
	s *storm
}

func (m *plea) Fail(err error) {
	m.parcelled.Fail(err)
	m.s.mu.Lock()
	leave := !m.s.calm && m.s.random.IntN(20) == 0
	m.s.mu.Unlock()
	if leave {
		runtime.Goexit()
	}
}

func (s *storm) worker() Start {
	return scriptWorker(script{
		init: func(p *Process) error { p.SetCarriedState(bequest{s}); return s.act(25) },
		receive: func(p *Process, msg any) error {
			if c, ok := msg.(*Call[int, string]); ok {
				c.Reply(p.Path())
				return nil
			}
			m := msg.(*plea)
			m.begun.Add(1)
			return s.act(8)
		},
		terminate: func(*Process, error) { _ = s.act(10) },
	})
}

// spec returns a random tree of the given depth.
func (s *storm) spec(depth int) Spec {
	pick := func(n int) int { s.mu.Lock(); defer s.mu.Unlock(); return s.random.IntN(n) }
	spec := Spec{Strategy: Strategy(pick(3)), Intensity: Intensity{pick(8), 20 * time.Second}}
	for n := range 2 + pick(3) {
		c := Child{
			ID: fmt.Sprint("c", n), Restart: Restart(pick(2)), Shutdown: time.Second,
			StartTimeout: 3 * time.Second, Mailbox: 64, Start: s.worker(),
		}
		if depth > 0 && pick(2) == 0 {
			sub := s.spec(depth - 1)
			c.Start, c.Shutdown = Supervisor(sub), 0
			if pick(3) == 0 {
				c.Start = SupervisorFunc(func() Spec { _ = s.act(12); return sub })
			}
			if pick(2) == 0 {
				c.Shutdown = 4 * time.Second
			}
		}
		spec.Children = append(spec.Children, c)
	}
	return spec
}

// After any mix of crashes, Goexits and hangs: every supervisor answers, every row in which
// something runs answers, every message was handled or failed, no process counts as hung, and the
// tree stops.
func TestAStormLeavesNothingWedged(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { blow(t, seed) })
	}
}

func blow(t *testing.T, seed uint64) {
	synctest.Test(t, func(t *testing.T) {
		s := &storm{random: rand.New(rand.NewPCG(seed, 7)), calm: true}
		r := newRig(t)
		spec := Spec{Intensity: Intensity{1000, time.Second}, Children: []Child{
			{ID: "a", Start: Supervisor(s.spec(2))}, {ID: "b", Start: Supervisor(s.spec(2))},
			{ID: "c", Start: s.worker()},
		}}
		if r.tree, r.err = r.sys.Start(context.Background(), "top", spec); r.err != nil {
			t.Fatal(r.err)
		}
		s.mu.Lock()
		s.calm = false
		s.mu.Unlock()
		var sent []*plea
		var asks sync.WaitGroup
		random := rand.New(rand.NewPCG(seed, 8))
		for range 400 {
			paths := everywhere(r.tree.Snapshot())
			path := paths[random.IntN(len(paths))]
			ref, ok := r.sys.Whereis(path)
			if !ok {
				continue // deleted meanwhile
			}
			up, id := path[:strings.LastIndexByte(path, '/')], base(path)
			sup, _ := r.sys.Whereis(up)
			ask := func(f func(ctx context.Context)) {
				asks.Go(func() {
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					defer cancel()
					f(ctx)
				})
			}
			switch n := random.IntN(20); {
			case n == 0:
				ask(func(ctx context.Context) { _ = TerminateChild(ctx, sup, id) })
			case n <= 2:
				ask(func(ctx context.Context) { _, _ = RestartChild(ctx, sup, id) })
			case n == 3:
				s.release(2)
			case n <= 5:
				time.Sleep(time.Duration(random.IntN(int(4 * time.Second))))
			default:
				m := &plea{s: s}
				if ref.row.child().Start.Type() == WorkerType && ref.Send(m) == nil {
					sent = append(sent, m)
				}
			}
			if random.IntN(3) == 0 {
				time.Sleep(time.Duration(random.IntN(int(200 * time.Millisecond))))
			}
			if r.tree.Err() != nil {
				break
			}
		}
		s.mu.Lock()
		s.calm = true
		s.mu.Unlock()
		s.release(0)
		asks.Wait()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		t.Log(r.state(), len(ofType[ChildExited](r)), "exits", len(ofType[Abandoned](r)), "abandoned",
			len(ofType[StartFailed](r)), "starts failed")
		if r.sys.Isolated() != 0 {
			t.Errorf("%d hung", r.sys.Isolated())
		}
		if r.tree.Err() == nil {
			calm(t, r, r.tree.Snapshot())
		}
		if err := r.tree.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		r.sys.Close()
		synctest.Wait()
		for i, m := range sent {
			if begun, failed := m.begun.Load(), m.failed.Load(); begun > 1 || failed > 1 ||
				begun+failed == 0 {
				t.Errorf("message %d: begun %d times, failed %d times", i, begun, failed)
			}
		}
	})
}

// everywhere returns the paths of all rows except the root's.
func everywhere(n Node) (paths []string) {
	for _, c := range n.Children {
		paths = append(append(paths, c.Path), everywhere(c)...)
	}
	return paths
}

// calm checks that everything below a node is in the state that its status says.
func calm(t *testing.T, r *rig, n Node) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ref, _ := r.sys.Whereis(n.Path)
	switch {
	case n.Status == Stopped || n.Status == StatusAbandoned:
		if ref.Alive() {
			t.Errorf("%s is %s and takes messages", n.Path, n.Status)
		}
		return
	case n.Status != Running:
		t.Errorf("%s is %s for good", n.Path, n.Status)
	case n.Type == SupervisorType:
		if _, err := CountChildren(ctx, ref); err != nil {
			t.Errorf("%s: %v", n.Path, err)
		}
	default:
		if path, err := Do[int, string](ctx, ref, 1); err != nil || path != n.Path {
			t.Errorf("%s: %q %v", n.Path, path, err)
		}
	}
	for _, c := range n.Children {
		calm(t, r, c)
	}
}
