package otp

import (
	"fmt"
	"runtime"
	"testing"
)

// What the runtime itself has registered is found in fewer maps, and processes that come and go leave nothing.
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
	const most = 64 << 10 // with 1,024 maps it is eight times as much
	if after := heap(); after > before+most {
		t.Errorf("2,000 processes that are gone left %d bytes", after-before)
	}
}
