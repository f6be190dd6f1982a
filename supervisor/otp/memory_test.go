package otp

import (
	"context"
	"runtime"
	"strconv"
	"testing"
)

// ballast is how many bytes each worker of the test holds, far more than a row takes.
const ballast = 64 << 10

// A pool that ten thousand children went through holds no more memory than one that few went
// through. Neither the rows of ended children nor their work is kept.
func TestEndedChildrenAreNotKept(t *testing.T) {
	const children, wave = 10_000, 500
	sys := NewSystem(Options{})
	defer sys.Close()
	tree, err := sys.Start(context.Background(), "top",
		Spec{Strategy: SimpleOneForOne, Children: []Child{{
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
				if _, err := StartChildArgs(context.Background(), tree.Ref(), strconv.Itoa(i+n),
					make([]byte, ballast)); err != nil {
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
	// The memory must not grow with the number of ended children. The limit is a hundredth of their
	// ballast, far more than their rows would take. Memory of other things is in both measurements.
	first := through(0, 2*wave)
	last := through(2*wave, children)
	t.Logf("%d KiB after %d children, %d KiB after %d", first>>10, 2*wave, last>>10, children)
	if grown, limit := int64(last)-int64(first), int64(children-2*wave)*ballast/100; grown > limit {
		t.Errorf("%d KiB more are held after %d children than after %d, want less than %d", grown>>10,
			children, 2*wave, limit>>10)
	}
}
