package otp

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// parcelled is a message that counts how often it was begun and failed.
type parcelled struct {
	sender, n     int
	takes         time.Duration
	begun, failed atomic.Int32
}

func (m *parcelled) Fail(error) { m.failed.Add(1) }

// Around a replacement no message is lost or handled twice, and the messages of one sender keep
// their order. The stuck worker may return just before or just after its HardTimeout, messages may
// be sent meanwhile, and there may be a successor or none.
func TestNoMessageIsLostOrHandledTwiceAroundAReplacement(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			handOver(t, rand.New(rand.NewPCG(seed, 5)))
		})
	}
}

func handOver(t *testing.T, random *rand.Rand) {
	var mu sync.Mutex // guards last and replaced
	last, replaced := map[int]int{}, 0
	start := scriptWorker(script{receive: func(p *Process, msg any) error {
		m := msg.(*parcelled)
		m.begun.Add(1)
		mu.Lock()
		if m.n <= last[m.sender] {
			t.Errorf("sender %d: %d after %d", m.sender, m.n, last[m.sender])
		}
		last[m.sender] = m.n
		replaced = max(replaced, int(p.Incarnation())-1)
		mu.Unlock()
		time.Sleep(m.takes)
		return nil
	}})
	spec := Spec{Strategy: OneForOne, Intensity: Intensity{random.IntN(6), time.Hour},
		Children: []Child{
			{ID: "a", Start: start, Mailbox: 64,
				Restart: []Restart{Permanent, Transient, Temporary}[random.IntN(3)]},
		}}
	runTree(t, spec, func(t *testing.T, r *rig) {
		a := r.ref("a")
		var all sync.WaitGroup
		sent := make([][]*parcelled, 4)
		for sender := range sent {
			random := rand.New(rand.NewPCG(random.Uint64(), uint64(sender)))
			all.Go(func() {
				for n := 1; n <= 40; n++ {
					m := &parcelled{sender: sender, n: n}
					if random.IntN(20) == 0 {
						m.takes = DefaultHardTimeout - 60*time.Millisecond +
							time.Duration(random.IntN(220))*time.Millisecond
					}
					if a.Send(m) == nil {
						sent[sender] = append(sent[sender], m)
					}
					time.Sleep(time.Duration(random.IntN(int(DefaultHardTimeout / 10))))
				}
			})
		}
		all.Wait()
		time.Sleep(10 * time.Minute)
		r.sys.Close()
		synctest.Wait()
		for _, list := range sent {
			for _, m := range list {
				begun, failed := m.begun.Load(), m.failed.Load()
				if begun > 1 || failed > 1 || begun+failed == 0 || begun+failed == 2 && m.takes == 0 {
					t.Errorf("sender %d, message %d that takes %s: begun %d times, failed %d times", m.sender, m.n,
						m.takes, begun, failed)
				}
			}
		}
		t.Log(replaced, "replaced")
	})
}
