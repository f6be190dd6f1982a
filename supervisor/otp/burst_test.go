package otp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A signal is handled before the next message, however many messages the goroutine was given
// together.
func TestStopIsHandledBeforeTheNextMessage(t *testing.T) {
	gate := make(chan struct{})
	begun := 0
	start := scriptWorker(script{receive: func(p *Process, msg any) error {
		if msg == "block" {
			<-gate
			return nil
		}
		if begun++; begun == 3 {
			p.guard.mailbox.PostSystemMessage(stopOrder)
		}
		return nil
	}})
	runTree(t, oneChild(Child{ID: "a", Restart: Temporary, Start: start}), func(t *testing.T, r *rig) {
		gate = make(chan struct{}) // made in this bubble
		_ = r.ref("a").Send("block")
		synctest.Wait()
		left := make([]*failer, DefaultThroughput)
		for i := range left {
			left[i] = &failer{}
			_ = r.ref("a").Send(left[i])
		}
		close(gate)
		synctest.Wait()
		for i, m := range left {
			if i < 3 && m.err != nil || i >= 3 && m.err != ErrNoProc {
				t.Errorf("letter %d: %v", i, m.err)
			}
		}
		if begun != 3 {
			t.Errorf("%d begun, want 3", begun)
		}
	})
}

// Runs on real goroutines, with bursts from several senders, and with crashes, ends, hangs and
// signals at random messages. The mailbox counts correctly at all times. Each accepted message is
// handled or failed once, in the order of its sender.
func TestBurstsAreCountedWhateverHappens(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { t.Parallel(); bursts(t, seed) })
	}
}

func bursts(t *testing.T, seed uint64) {
	const senders, each, limit = 4, 4000, 48
	var mu sync.Mutex // guards random and last
	random := rand.New(rand.NewPCG(seed, 9))
	last := map[int]int{}
	start := scriptWorker(script{receive: func(_ *Process, msg any) error {
		m, ok := msg.(*parcelled)
		if !ok {
			return nil // from PostWait
		}
		m.begun.Add(1)
		mu.Lock()
		if m.n <= last[m.sender] {
			t.Errorf("sender %d: %d after %d", m.sender, m.n, last[m.sender])
		}
		last[m.sender] = m.n
		whim := random.IntN(3000)
		mu.Unlock()
		switch {
		case whim == 0:
			time.Sleep(1500 * time.Millisecond) // the worker is replaced
		case whim < 5:
			panic("burst")
		case whim == 5:
			runtime.Goexit()
		case whim == 6:
			return errTest
		case whim < 150:
			runtime.Gosched()
		}
		return nil
	}})
	sys := NewSystem(Options{})
	spec := Spec{
		Intensity: Intensity{1 << 20, time.Second},
		Children:  []Child{{ID: "a", Mailbox: limit, Start: start, HardTimeout: time.Second}},
	}
	tree, err := sys.Start(context.Background(), "top", spec)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := sys.Whereis("top/a")
	var all, pokes sync.WaitGroup
	sent, refused := make([][]*parcelled, senders), make([][]*parcelled, senders)
	for sender := range senders {
		random := rand.New(rand.NewPCG(seed, uint64(sender)))
		all.Go(func() {
			for n := 1; n <= each; n++ {
				m := &parcelled{sender: sender, n: n}
				if a.Send(m) == nil {
					sent[sender] = append(sent[sender], m)
				} else {
					refused[sender] = append(refused[sender], m)
				}
				if k := len(refused[sender]); random.IntN(40) == 0 || k > 0 && refused[sender][k-1] == m {
					time.Sleep(time.Duration(random.IntN(int(200 * time.Microsecond))))
				}
			}
		})
	}
	over := make(chan struct{})
	pokes.Go(func() {
		random := rand.New(rand.NewPCG(seed, 10))
		for !isClosed(over) {
			if g := a.row.proc.Load(); g != nil {
				if reason := g.mailbox.wrong(); reason != "" {
					t.Error(reason)
				}
				switch random.IntN(20) {
				case 0:
					g.mailbox.PostSystemMessage(struct{}{}) // a signal without meaning
				case 1:
					ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
					if p := g.current.Load(); p != nil {
						_ = p.PostWait(ctx, 0) // a waiter for room makes the mailbox give out one message at a time
					}
					cancel()
				case 2:
					if TerminateChild(context.Background(), tree.Ref(), "a") == nil {
						_, _ = RestartChild(context.Background(), tree.Ref(), "a")
					}
				}
			}
			time.Sleep(time.Duration(random.IntN(int(500 * time.Microsecond))))
		}
	})
	all.Wait()
	close(over)
	pokes.Wait()
	sys.Close()
	count := map[string]int{}
	for sender := range senders {
		for _, m := range sent[sender] {
			begun, failed := m.begun.Load(), m.failed.Load()
			count[fmt.Sprintf("%d begun, %d failed", begun, failed)]++
			if begun > 1 || failed > 1 || begun+failed == 0 {
				t.Errorf("sender %d, message %d: begun %d times, failed %d times", sender, m.n, begun, failed)
			}
		}
		for _, m := range refused[sender] {
			if m.begun.Load()+m.failed.Load() != 0 {
				t.Errorf("sender %d, message %d was refused: begun %d times, failed %d times", sender, m.n,
					m.begun.Load(), m.failed.Load())
			}
		}
		count["refused"] += len(refused[sender])
	}
	t.Log(count, a.Incarnation(), "incarnations")
	for sys.Isolated() > 0 { // until they return
		time.Sleep(10 * time.Millisecond)
	}
}

// wrong returns what the mailbox has miscounted, "" if nothing.
func (m *mailbox) wrong() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reconcile()
	room := 0
	for i := range m.user.n {
		if l := m.user.ring[(m.user.head+i)&(len(m.user.ring)-1)]; l.counts {
			room++
		} else if l.msg == nil {
			return fmt.Sprintf("slot %d of %d is empty", i, m.user.n)
		}
	}
	if m.limitCount != room && m.next == nil || m.limitCount > m.limit {
		return fmt.Sprintf("%d counted, %d wait, of %d", m.limitCount, room, m.limit)
	}
	return ""
}
