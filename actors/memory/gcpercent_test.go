package memory_test

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/memory"
	"mcpd/gateway/quota"
	"mcpd/supervisor/otp"
)

func TestPace(t *testing.T) {
	const mib = 1 << 20
	for _, tc := range []struct {
		name        string
		live, limit uint64
		want        int
	}{
		{"nothing lives yet", 0, 0, 800},
		{"less than the runtime counts", mib, 0, 800},
		{"half the room", 16 * mib, 0, 200},
		{"the room", 32 * mib, 0, 100},
		{"more than the room", 1024 * mib, 0, 100},
		{"much memory", 16 * mib, 1024 * mib, 200},
		{"little memory", 4 * mib, 64 * mib, 200},
		{"little memory in use", 16 * mib, 64 * mib, 100},
	} {
		if got := memory.GrowthPercent(tc.live, tc.limit); got != tc.want {
			t.Errorf("%s: %d %%, want %d", tc.name, got, tc.want)
		}
	}
}

// The pace follows the live bytes, without a limit too, and is set when it changes.
func TestManagerSetsThePace(t *testing.T) {
	var live atomic.Uint64
	var set testrig.Log
	testrig.Run(t, func(s *testrig.Rig) []otp.Child {
		return []otp.Child{{ID: "memory", Start: otp.Worker(func() otp.Behaviour {
			return memory.New(memory.Options{
				Level: &quota.Memory{}, Emit: s.Events.Emit, Faults: s.Faults, SetGCPercent: func(percent int) {
					set.Add(percent)
				},
				Use: func() memory.Use { return memory.Use{Live: live.Load()} },
			})
		})}}
	}, func(s *testrig.Rig) {
		for _, n := range []uint64{0, memory.AllocationStep / 2, memory.AllocationStep / 2,
			2 * memory.AllocationStep} {
			live.Store(n)
			time.Sleep(2 * memory.SampleEvery) // virtual
			s.WaitIdle()
		}
		if got := testrig.Of[int](&set); !slices.Equal(got, []int{800, 200, 100}) {
			t.Errorf("set to %v", got)
		}
	})
}

// With the pace for few live bytes, the runtime collects when the room is used up, and not before.
// GOGC takes precedence.
func TestPacerHoldsTheRuntimeToTheRoom(t *testing.T) {
	t.Setenv("GOGC", "100")
	if memory.GCPercentSetter() != nil {
		t.Error("there is a pace beside GOGC")
	}
	os.Unsetenv("GOGC")
	set := memory.GCPercentSetter()
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	measure := memory.Measured()
	runtime.GC()
	set(memory.GrowthPercent(measure().Live, 0))
	before := measure()
	for range 7 * memory.AllocationStep / 2 / 4096 { // the room three and a half times
		kept = make([]byte, 4096)
	}
	if n := measure().Collections - before.Collections; n < 1 || n > 5 {
		t.Errorf("%d collections for three and a half rooms", n)
	}
}

var kept []byte
