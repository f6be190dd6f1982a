package memory

import (
	"os"
	"runtime/debug"
)

const (
	// Room is what is allocated, in bytes, before the garbage is collected. The runtime's own measure is as much as lives, 4 MiB at least: a host
	// with little to keep would collect twenty times a second under load, for a ninth of its processor time.
	Room = 32 << 20
	// roomShare is the part of the memory that Room is at most: one in eight.
	roomShare = 8
	// leastHeap is what the runtime takes for the least that lives when it applies a percentage.
	leastHeap = 4 << 20
)

// ownPace is the percentage of the runtime itself: it collects when as much as lives was allocated.
const ownPace = 100

// Pace is by how many percent of what lives the heap may grow until the next collection, with so much memory; 0 is no limit of it. A heap
// larger than the room has the runtime's own pace.
func Pace(live, limit uint64) int {
	room := uint64(Room)
	if limit > 0 {
		room = min(room, limit/roomShare)
	}
	return max(ownPace, int(room*100/max(live, leastHeap)))
}

// Pacer is what sets the pace of this process, for Options; nil where GOGC in its environment has set one.
func Pacer() func(percent int) {
	if _, set := os.LookupEnv("GOGC"); set {
		return nil
	}
	return func(percent int) { debug.SetGCPercent(percent) }
}
