package otp

import (
	"context"
	"runtime"
	"strconv"
	"testing"
)

// ballast is what a worker of the test is given to hold, far more than a row costs.
const ballast = 64 << 10

// A pool through which ten thousand children went holds no more than one through which few did: neither their rows nor what they were
// doing is kept, wherever protoactor still has their process ids.
func TestEndedChildrenAreNotKept(t *testing.T) {
	const children, wave = 10_000, 500
	sys := NewSystem(Options{})
	defer sys.Close()
	tree, err := sys.Start(context.Background(), "top", Spec{Strategy: SimpleOneForOne, Children: []Child{{
		Restart: Temporary,
		Start: WorkerWith(func(args any) Behaviour {
			held := args.([]byte)
			return &script{receive: func(*Process, any) error { held[0]++; return nil }}
		}),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	through := func(from, to int) uint64 {
		for i := from; i < to; i += wave {
			for n := range wave {
				if _, err := StartChildArgs(context.Background(), tree.Ref(), strconv.Itoa(i+n), make([]byte, ballast)); err != nil {
					t.Fatal(err)
				}
			}
			for n := range wave {
				if err := TerminateChild(context.Background(), tree.Ref(), strconv.Itoa(i+n)); err != nil {
					t.Fatal(err)
				}
			}
		}
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	first := through(0, wave)
	last := through(wave, children)
	t.Logf("%d KiB after %d children, %d KiB after %d", first>>10, wave, last>>10, children)
	if limit := uint64(8 << 20); first > limit || last > limit {
		t.Errorf("%d and %d KiB are held, want less than %d", first>>10, last>>10, limit>>10)
	}
}
