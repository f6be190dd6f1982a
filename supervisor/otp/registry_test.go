package otp

import (
	"context"
	"fmt"
	"runtime"
	"testing"
)

// Protoactor's registry holds its own entries, and no process of a tree, because its maps would
// keep the memory.
func TestProcessesAreNotKeptInTheRegistry(t *testing.T) {
	registered := func(s *System) (n int) {
		for _, part := range s.actors.ProcessRegistry.LocalPIDs.LocalPIDs {
			n += part.Count()
		}
		return n
	}
	runTree(t, oneChild(Child{ID: "a", Start: counter()}), func(t *testing.T, r *rig) {
		fresh := NewSystem(Options{})
		defer fresh.Close()
		if n, own := registered(r.sys), registered(fresh); n != own || own == 0 {
			t.Errorf("%d are registered beside a tree, %d without", n, own)
		}
		if n, err := Do[string, int](context.Background(), r.ref("a"), "x"); n != 1 || err != nil {
			t.Errorf("answer %d, %v", n, err)
		}
	})
}

// Protoactor's own entries are found in fewer maps, and ended processes leave nothing behind.
func TestProcessesThatEndLeaveNothingInTheRegistry(t *testing.T) {
	s := NewSystem(Options{})
	t.Cleanup(s.Close)
	registry := s.actors.ProcessRegistry
	if n := len(registry.LocalPIDs.LocalPIDs); n != registryParts {
		t.Fatalf("%d maps", n)
	}
	for _, part := range registry.LocalPIDs.LocalPIDs {
		for id := range part.Items() {
			if _, ok := registry.GetLocal(id); !ok {
				t.Errorf("%s is not found", id)
			}
		}
	}
	heap := func() uint64 {
		var m runtime.MemStats
		for range 3 {
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	crowd := func(from int) {
		for i := range 2000 {
			id := fmt.Sprint("process", from+i)
			registry.LocalPIDs.GetBucket(id).Set(id, i)
			registry.LocalPIDs.GetBucket(id).Remove(id)
		}
	}
	crowd(0)
	before := heap()
	crowd(2000)
	const most = 64 << 10 // with 1,024 parts the growth would be eight times this limit
	if after := heap(); after > before+most {
		t.Errorf("2,000 processes that are gone left %d bytes", after-before)
	}
}
