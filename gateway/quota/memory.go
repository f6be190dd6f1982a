package quota

import (
	"sync/atomic"
	"time"
)

// Level says how much of its memory a process uses, and which new work it accepts at that level.
// Work that has begun continues at every level. Tenants that keep more than their share (see
// Ledger) are refused first, the others only when nothing is left.
type Level uint8

// The levels. Their effects beside refusals are implemented by the owners of the resources, which
// read the level from Memory.
const (
	Normal Level = iota
	// Elevated: sent events are not kept for clients that come back, and no idle connection to a
	// server is kept.
	Elevated
	// High: tenants above their share begin no new session, task or held call. Data that waits for
	// absent clients is dropped.
	High
	Critical  // tenants above their share: no new call either
	Exhausted // all tenants: no new session, task or call
)

// audience is the set of tenants that may begin something.
type audience uint8

const (
	everybody   audience = iota
	withinShare          // tenants that keep no more than their share
	nobody
)

func (a audience) has(above bool) bool { return a == everybody || a == withinShare && !above }

// levels is the table. A level is entered at one share of the memory, and left below a smaller
// one, so that the level does not change with every garbage collection. Retry is when a refused
// caller may come back: after a collection and a burst.
var levels = [...]struct {
	word         string
	enter, leave float64 // shares of the memory
	// begin says which tenants may begin a session or a task, call which may make a call.
	begin, call audience
	retry       time.Duration
}{
	Normal:    {"normal", 0, 0, everybody, everybody, 0},
	Elevated:  {"elevated", 0.70, 0.65, everybody, everybody, 0},
	High:      {"high", 0.85, 0.80, withinShare, everybody, 5 * time.Second},
	Critical:  {"critical", 0.95, 0.90, withinShare, withinShare, 2 * time.Second},
	Exhausted: {"exhausted", 1, 0.97, nobody, nobody, 2 * time.Second},
}

// String returns the level in one word.
func (l Level) String() string { return levels[l].word }

// Next returns the level after l when use bytes of limit are in use. Without a limit the level is
// always Normal. Exhausted follows Critical only, so tenants above their share are refused before
// all tenants are.
func (l Level) Next(use, limit uint64) Level {
	if limit == 0 {
		return Normal
	}
	share := float64(use) / float64(limit)
	next := Exhausted
	for share < levels[next].enter || next == Exhausted && l < Critical {
		next--
	}
	for l > next && share < levels[l].leave {
		l--
	}
	return max(l, next)
}

// AllowsBegin reports whether a tenant may begin a session, a task or a held call. Above says
// whether the tenant is above its share.
func (l Level) AllowsBegin(above bool) bool { return levels[l].begin.has(above) }

// AllowsCall reports whether a tenant may make a call. Above says whether the tenant is above its
// share.
func (l Level) AllowsCall(above bool) bool { return levels[l].call.has(above) }

// Retry returns when a refused caller may come back.
func (l Level) Retry() time.Duration { return levels[l].retry }

// Memory holds the level in force. Code that is about to begin something reads it. One actor sets
// it. The zero Memory is at Normal, and a nil Memory stays there. It is safe for concurrent use.
type Memory struct{ level atomic.Uint32 }

// Level returns the level in force.
func (m *Memory) Level() Level {
	if m == nil {
		return Normal
	}
	return Level(m.level.Load())
}

// Set puts a level in force.
func (m *Memory) Set(l Level) { m.level.Store(uint32(l)) }
