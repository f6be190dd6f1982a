package otp_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"mcpd/internal/clock"
	"mcpd/internal/fault"
	"mcpd/supervisor/otp"
)

// unlimited is an intensity that is not exceeded by benchmarks that crash on purpose.
var unlimited = otp.Intensity{Restarts: otp.MaxRestarts, Within: time.Millisecond}

type (
	crash struct{}
	stamp struct{ at chan<- time.Time }
)

type victim struct{ otp.Base }

func (victim) Receive(_ *otp.Process, msg any) error {
	switch m := msg.(type) {
	case crash:
		panic("on purpose")
	case stamp:
		m.at <- time.Now()
	case *otp.Call[int, int]:
		m.Reply(m.Req)
	}
	return nil
}

func plant(b testing.TB, spec otp.Spec) (*otp.System, *otp.Tree) {
	b.Helper()
	sys := otp.NewSystem(otp.Options{})
	tree, err := sys.Start(context.Background(), "bench", spec)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(sys.Close)
	return sys, tree
}

func where(b testing.TB, sys *otp.System, path string) otp.Ref {
	b.Helper()
	ref, ok := sys.Whereis(path)
	if !ok {
		b.Fatalf("no row %s", path)
	}
	return ref
}

func workers(n int) []otp.Child {
	var out []otp.Child
	for i := range n {
		out = append(out, otp.Child{ID: fmt.Sprintf("w%d", i), Start: otp.Worker(func() otp.Behaviour {
			return victim{}
		})})
	}
	return out
}

// benchRestart measures from the panic (just before the crashing message is sent) until the new
// incarnation handles the next message.
func benchRestart(b *testing.B, siblings int) {
	sys, _ := plant(b, otp.Spec{Intensity: unlimited, Children: workers(siblings + 1)})
	ref := where(b, sys, "bench/w0")
	at := make(chan time.Time, 1)
	took := make([]time.Duration, 0, b.N)
	for b.Loop() {
		start := time.Now()
		_ = ref.Send(crash{})
		_ = ref.Send(stamp{at})
		took = append(took, (<-at).Sub(start))
	}
	report(b, took)
}

func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50", .5}, {"p99", .99}, {"p99.9", .999}, {"max", 1}} {
		b.ReportMetric(float64(took[int(q.at*float64(len(took)-1))])/1e3, q.name+"-µs")
	}
}

func BenchmarkPanicToNextMessage(b *testing.B)             { benchRestart(b, 0) }
func BenchmarkPanicToNextMessage1000Siblings(b *testing.B) { benchRestart(b, 1000) }

func BenchmarkDo(b *testing.B) {
	sys, _ := plant(b, otp.Spec{Children: workers(1)})
	ref := where(b, sys, "bench/w0")
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := otp.Do[int, int](ctx, ref, 1); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSend(b *testing.B) {
	children := workers(1)
	children[0].Mailbox = otp.MaxMailbox
	sys, _ := plant(b, otp.Spec{Children: children})
	ref := where(b, sys, "bench/w0")
	var msg any = struct{}{}
	b.ReportAllocs()
	for b.Loop() {
		for ref.Send(msg) != nil {
			runtime.Gosched()
		}
	}
	if _, err := otp.Do[int, int](context.Background(), ref, 1); err != nil &&
		err != otp.ErrOverloaded {
		b.Fatal(err)
	}
}

func BenchmarkStartChildArgs(b *testing.B) {
	sys, _ := plant(b, poolSpec())
	pool := where(b, sys, "bench/pool")
	ctx := context.Background()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, err := otp.StartChildArgs(ctx, pool, fmt.Sprintf("s%d", i), nil); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func poolSpec() otp.Spec {
	return otp.Spec{Children: []otp.Child{{ID: "pool", Start: otp.Supervisor(otp.Spec{
		Strategy: otp.SimpleOneForOne,
		Children: []otp.Child{{Restart: otp.Temporary, Start: otp.Worker(func() otp.Behaviour {
			return victim{}
		})}},
	})}}}
}

func BenchmarkIdleWorkerMemory(b *testing.B) {
	const n = 100_000
	sys, tree := plant(b, poolSpec())
	pool := where(b, sys, "bench/pool")
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	ctx := context.Background()
	before := heap()
	for i := range n {
		if _, err := otp.StartChildArgs(ctx, pool, fmt.Sprintf("session-%d", i), nil); err != nil {
			b.Fatal(err)
		}
	}
	each := float64(heap()-before) / n
	start := time.Now()
	if err := tree.Shutdown(ctx); err != nil {
		b.Fatal(err)
	}
	stop := time.Since(start)
	for b.Loop() { // nothing is repeated: the reported metrics are the result
	}
	b.ReportMetric(each, "B/worker")
	b.ReportMetric(float64(stop.Milliseconds()), "stop-ms")
}

// BenchmarkSupervisorBack1000 measures from the end of a supervisor until its children are ready
// again.
func BenchmarkSupervisorBack1000(b *testing.B) {
	const n = 1000
	ready := make(chan struct{}, n)
	start := otp.Worker(func() otp.Behaviour { return announcer{ready} })
	children := make([]otp.Child, n)
	for i := range children {
		children[i] = otp.Child{ID: fmt.Sprint(i), Start: start}
	}
	faults := fault.New(clock.System)
	sys := otp.NewSystem(otp.Options{Faults: faults})
	b.Cleanup(sys.Close)
	sub := otp.Child{
		ID: "sub", Start: otp.Supervisor(otp.Spec{Intensity: unlimited, Children: children}),
	}
	if _, err := sys.Start(context.Background(), "bench",
		otp.Spec{Intensity: unlimited, Children: []otp.Child{sub}}); err != nil {
		b.Fatal(err)
	}
	wait := func() {
		for range n {
			<-ready
		}
	}
	wait()
	if _, err := faults.Arm(fault.Fault{Action: fault.Panic, Point: fault.Point{Path: "bench/sub"},
		Lease: fault.MaxLease}); err != nil {
		b.Fatal(err)
	}
	ref := where(b, sys, "bench/sub")
	for b.Loop() {
		_ = ref.Send(crash{})
		wait()
	}
}

// announcer reports each incarnation.
type announcer struct{ ready chan<- struct{} }

func (a announcer) Init(*otp.Process) error       { a.ready <- struct{}{}; return nil }
func (announcer) Receive(*otp.Process, any) error { return nil }
func (announcer) Terminate(*otp.Process, error)   {}
