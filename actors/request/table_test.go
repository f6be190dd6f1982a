package request_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	weakly "weak"

	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// owner counts the ends that it is told of.
type owner struct {
	mu    sync.Mutex // guards ended
	ended map[uint64]int
}

func (*owner) Send(any) error { return nil }

func (o *owner) Ended(x *request.Exchange, _ bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended[x.ID]++
}

// tally is a client that counts its outcomes.
type tally struct{ n atomic.Int32 }

func (*tally) Send(jsonrpc.Message) error    { return nil }
func (t *tally) Finish(jsonrpc.Message) bool { return t.n.Add(1) == 1 }

// outcomeLog counts the requests in flight.
type outcomeLog struct {
	mu                sync.Mutex // guards the rest
	begun, ended, now int
}

func (b *outcomeLog) Begin(*request.Exchange) { b.count(1, 0) }

func (b *outcomeLog) End(*request.Exchange, request.Outcome) { b.count(0, 1) }

func (b *outcomeLog) count(begun, ended int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun, b.ended, b.now = b.begun+begun, b.ended+ended, b.now+begun-ended
}

// An exchange has one outcome, whoever settles it and however many do so concurrently. Its owner
// and the books are told of one end, and the table drops it.
func TestTableProperties(t *testing.T) {
	for seed := range uint64(50) {
		own, books := &owner{ended: map[uint64]int{}}, &outcomeLog{}
		table := request.NewTable(request.Options{Pending: func() int { return 40 }, Meter: books})
		rnd := rand.New(rand.NewPCG(seed, 0))
		now := time.Unix(1000, 0)
		var all []*request.Exchange
		var outs []*tally
		taken := 0
		for i := range 60 {
			out := &tally{}
			x := &request.Exchange{
				ID: uint64(i + 1), Owner: own, Version: protocol.V20251125, Downstream: jsonrpc.IntID(1),
				Server: "files", Principal: fmt.Sprint(rnd.IntN(3)), Method: "tools/call", Arrived: now,
				Timeout: time.Duration(1+rnd.IntN(200)) * time.Second, MaxTimeout: time.Hour, Sink: out,
			}
			all, outs = append(all, x), append(outs, out)
			until, err := table.Take(now, x)
			switch {
			case err != nil:
				x.Settle(request.Outcome{Ending: request.Refused, Err: err})
			case !until.Equal(now.Add(x.Timeout)):
				t.Fatalf("seed %d: taken on until %v", seed, until)
			default:
				taken++
			}
			if rnd.IntN(4) == 0 {
				all[rnd.IntN(len(all))].Progressed(now.Add(time.Second))
			}
		}
		if taken != 40 || table.Len() != 40 {
			t.Fatalf("seed %d: %d of 60 are taken on, %d are there", seed, taken, table.Len())
		}
		var together sync.WaitGroup
		var mu sync.Mutex // guards first
		first := map[uint64]int{}
		for worker := range 4 {
			mine := slices.Clone(all)
			order := rand.New(rand.NewPCG(seed, uint64(worker+1)))
			order.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
			together.Go(func() {
				for _, x := range mine {
					how := request.Ending(order.IntN(4))
					if x.Settle(request.Outcome{Ending: how, Result: []byte("{}")}) {
						mu.Lock()
						first[x.ID]++
						mu.Unlock()
					}
				}
			})
		}
		together.Wait()
		for i, x := range all {
			if got := first[x.ID]; got > 1 || i < 40 && got != 1 || own.ended[x.ID] != 1 {
				t.Errorf("seed %d: %d was settled %d times, its owner heard %d ends", seed, x.ID, got,
					own.ended[x.ID])
			}
			if n := outs[i].n.Load(); n != 1 {
				t.Errorf("seed %d: %d has %d outcomes", seed, x.ID, n)
			}
		}
		_, due := table.Next(now)
		if table.Len() != 0 || due || len(table.Due(now.Add(time.Hour))) != 0 || books.begun != 60 ||
			books.ended != 60 {
			t.Errorf("seed %d: %d left, due %v, %d begun, %d ended", seed, table.Len(), due, books.begun,
				books.ended)
		}
	}
}

// S4-133: ended exchanges leave no history that could grow.
func TestNothingIsKeptOfWhatHasEnded(t *testing.T) {
	table := request.NewTable(request.Options{Pending: func() int { return 40 }, Meter: &outcomeLog{}})
	own := &owner{ended: map[uint64]int{}}
	var kept []weakly.Pointer[request.Exchange]
	for i := range uint64(100) {
		x := &request.Exchange{
			ID: i, Owner: own, Method: "tools/call", Timeout: time.Minute, Sink: &tally{},
		}
		if _, err := table.Take(time.Now(), x); err != nil {
			t.Fatal(err)
		}
		x.Settle(request.Outcome{Ending: request.Cancelled})
		kept = append(kept, weakly.Make(x))
	}
	runtime.GC()
	for _, x := range kept {
		if x.Value() != nil {
			t.Fatal("an exchange is kept after its outcome")
		}
	}
	runtime.KeepAlive(table)
}

// S4-124: a request is accepted among a thousand waiting ones and gets its outcome.
func BenchmarkRequestCorrelation(b *testing.B) {
	table := request.NewTable(request.Options{Pending: func() int {
		return 2000
	}, Meter: &outcomeLog{}})
	own, out := silent{}, &tally{}
	now := time.Now()
	take := func(id uint64) *request.Exchange {
		x := &request.Exchange{ID: id, Owner: own, Method: "tools/call", Timeout: time.Minute, Sink: out}
		if _, err := table.Take(now, x); err != nil {
			b.Fatal(err)
		}
		return x
	}
	id := uint64(0)
	for ; id < 1000; id++ {
		take(id)
	}
	b.ReportAllocs()
	for b.Loop() {
		id++
		take(id).Settle(request.Outcome{Result: []byte("{}")})
	}
}

// silent is an owner that does nothing.
type silent struct{}

func (silent) Send(any) error                { return nil }
func (silent) Ended(*request.Exchange, bool) {}
