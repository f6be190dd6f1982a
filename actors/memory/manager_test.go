package memory_test

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/memory"
	"mcpd/gateway/quota"
	"mcpd/internal/fault"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// host is a manager of 1000 bytes with simulated measurements.
type host struct {
	*testrig.Rig
	bytes, collections atomic.Uint64 // in use, and so far
	relieved           testrig.Log
	level              quota.Memory
	kept               quota.Ledger
}

func run(t *testing.T, test func(h *host)) {
	t.Helper()
	h := &host{}
	testrig.Run(t, func(s *testrig.Rig) []otp.Child {
		h.Rig = s
		return []otp.Child{{ID: "memory", Start: otp.Worker(func() otp.Behaviour {
			return memory.New(memory.Options{
				Limit: 1000, Level: &h.level, Emit: s.Events.Emit, Holdings: h.kept.Snapshot, Faults: s.Faults,
				Use: func() memory.Use {
					return memory.Use{Bytes: h.bytes.Load(), Collections: h.collections.Load()}
				},
				Collect: func() { h.collections.Add(1) },
				Relieve: func(l quota.Level) { h.relieved.Add(l) },
			})
		})}}
	}, func(*testrig.Rig) { test(h) })
}

// has lets some time pass with so many bytes in use.
func (h *host) has(use uint64, while time.Duration) {
	h.bytes.Store(use)
	time.Sleep(while) // virtual
	h.WaitIdle()
}

func (h *host) levels() (said []string) {
	for _, e := range testrig.Of[telemetry.MemoryLevel](&h.Events) {
		said = append(said, e.Last+" "+e.Level)
	}
	return said
}

// Each change of level is reported once. Memory that a level does not permit is released repeatedly
// while the level lasts.
func TestManagerFollowsWhatIsInUse(t *testing.T) {
	run(t, func(h *host) {
		h.has(500, time.Minute)
		h.has(750, time.Second)
		h.has(960, time.Second)
		if got := h.level.Level(); got != quota.Critical {
			t.Errorf("the level is %v, want %v", got, quota.Critical)
		}
		h.has(100, time.Second)
		if got, want := h.levels(), []string{"normal elevated", "elevated critical",
			"critical normal"}; !slices.Equal(got, want) {
			t.Errorf("said %q, want %q", got, want)
		}
		got := slices.Compact(testrig.Of[quota.Level](&h.relieved))
		want := []quota.Level{quota.Elevated, quota.Critical}
		if !slices.Equal(got, want) || h.level.Level() != quota.Normal {
			t.Errorf("let go at %v, want at %v", got, want)
		}
	})
}

// Collections amid bursts do not make everybody refused. Only a collection does that begins after
// tenants above their share have been refused for a while, and finds no memory left.
func TestEverybodyIsRefusedOnlyAfterASecondCollection(t *testing.T) {
	run(t, func(h *host) {
		h.has(500, time.Minute)
		h.has(1200, memory.SampleEvery+time.Millisecond)
		for range 5 { // by the runtime, with earlier messages in memory
			h.collections.Add(1)
			h.has(1200, memory.RefusedFor/10)
		}
		if got := h.level.Level(); got != quota.Critical {
			t.Errorf("with the first such collections the level is %v, want %v", got, quota.Critical)
		}
		h.has(990, memory.SampleEvery) // critical, and not full
		h.has(1200, memory.SampleEvery+memory.RefusedFor)
		if got := h.level.Level(); got != quota.Critical {
			t.Errorf("with two more after a better one the level is %v, want %v", got, quota.Critical)
		}
		h.has(600, time.Second)
		if got := h.levels(); !slices.Equal(got, []string{"normal critical", "critical normal"}) {
			t.Errorf("bursts said %q", got)
		}
		h.has(1200, memory.SampleEvery+memory.RefusedFor+memory.SampleEvery)
		if got, want := h.level.Level(), quota.Exhausted; got != want {
			t.Errorf("when the second has found no memory left, too, the level is %v, want %v", got, want)
		}
	})
}

// Memory released since the last collection counts only with the next one, which an idle runtime
// does not need.
func TestManagerCollectsWhatItHasNotSeen(t *testing.T) {
	run(t, func(h *host) {
		h.has(500, time.Hour)
		if got := h.collections.Load(); got != 0 {
			t.Errorf("collected %d times at a normal level", got)
		}
		h.has(990, 10*time.Second)
		if got := h.collections.Load(); got < 4 || got > 5 {
			t.Errorf("collected %d times in ten seconds, want about one in two", got)
		}
	})
}

// A fault allocates the missing memory, once, and releases it when it has ended. A garbage
// collection runs at both times, because the change counts only then.
func TestMemoryThatIsFullIsAFault(t *testing.T) {
	run(t, func(h *host) {
		h.has(100, time.Minute)
		id, err := h.Faults.Arm(fault.Fault{
			Action: fault.Fill, Point: fault.Point{Place: fault.Memory}, Percent: 90, Lease: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		h.has(100, time.Second)
		if got := h.collections.Load(); got != 1 || h.Faults.Active()[0].Struck != 1 {
			t.Errorf("collected %d times, struck %d times", got, h.Faults.Active()[0].Struck)
		}
		h.Faults.Disarm(id)
		h.has(100, time.Second)
		if got := h.collections.Load(); got != 2 {
			t.Errorf("afterwards collected %d times", got)
		}
	})
}

// The allocated block is as large as the missing memory.
func TestMemoryIsFilled(t *testing.T) {
	const limit = 96 << 20
	faults, measure := fault.New(nil), memory.Measured()
	var level quota.Memory
	testrig.Run(t, func(s *testrig.Rig) []otp.Child {
		return []otp.Child{{ID: "memory", Start: otp.Worker(func() otp.Behaviour {
			return memory.New(memory.Options{
				Limit: limit, Level: &level, Emit: s.Events.Emit, Use: measure, Collect: runtime.GC,
				Relieve: func(quota.Level) {}, Faults: faults,
			})
		})}}
	}, func(*testrig.Rig) {
		runtime.GC() // the last collection counts what earlier tests kept
		time.Sleep(memory.SampleEvery)
		if _, err := faults.Arm(fault.Fault{Action: fault.Fill, Point: fault.Point{Place: fault.Memory},
			Percent: 90, Lease: time.Minute}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if got := level.Level(); got != quota.High {
			t.Errorf("the level is %v, want %v", got, quota.High)
		}
		faults.DisarmRun("")
		time.Sleep(10 * time.Second)
		if got := level.Level(); got != quota.Normal {
			t.Errorf("afterwards the level is %v", got)
		}
	})
}

// A crash leaves the level unchanged, and the next incarnation measures at once.
func TestManagerCrashesWithItsLevelInForce(t *testing.T) {
	run(t, func(h *host) {
		h.has(990, time.Second)
		h.Break("memory", "")
		h.has(100, memory.SampleEvery)
		h.Struck()
		if got := h.level.Level(); got != quota.Normal {
			t.Errorf("after its restart the level is %v", got)
		}
		if got, want := h.levels(), []string{"normal critical",
			"critical normal"}; !slices.Equal(got, want) {
			t.Errorf("said %q, want %q", got, want)
		}
	})
}

// The runtime's figures follow the memory held, and memory released after the next collection.
func TestMeasuredFollowsWhatIsHeld(t *testing.T) {
	const held = 64 << 20
	measure := memory.Measured()
	runtime.GC()
	before := measure()
	block := make([]byte, held)
	runtime.GC()
	with := measure()
	runtime.KeepAlive(block)
	block = nil
	runtime.GC()
	after := measure()
	if with.Bytes < before.Bytes+held*9/10 || after.Bytes > before.Bytes+held/10 ||
		after.Collections <= with.Collections {
		t.Errorf("measured %v, with %d bytes held %v, and after that %v", before, held, with, after)
	}
}
