package memory

import (
	"os"
	"runtime/debug"
)

const (
	// AllocationStep is how many bytes are allocated before the garbage is collected. By default the
	// runtime collects after as many bytes as live, at least 4 MiB. So a host with little live memory
	// would collect twenty times a second under load, for a ninth of its processor time.
	AllocationStep = 32 << 20
	// roomShare bounds AllocationStep to a part of the memory: one in eight.
	roomShare = 8
	// leastHeap is the live memory that the runtime assumes at least when it applies a percentage.
	leastHeap = 4 << 20
)

// ownPace is the default percentage of the runtime: it collects when as much as lives was
// allocated.
const ownPace = 100

// GrowthPercent returns by how many percent of its live bytes the heap may grow until the next
// collection, with so much memory; a limit of 0 is none. A heap larger than the room gets the
// default of the runtime.
func GrowthPercent(live, limit uint64) int {
	room := uint64(AllocationStep)
	if limit > 0 {
		room = min(room, limit/roomShare)
	}
	return max(ownPace, int(room*100/max(live, leastHeap)))
}

// GCPercentSetter returns a function that sets the pace of this process, for Options; nil if GOGC
// is set in the environment.
func GCPercentSetter() func(percent int) {
	if _, set := os.LookupEnv("GOGC"); set {
		return nil
	}
	return func(percent int) { debug.SetGCPercent(percent) }
}
