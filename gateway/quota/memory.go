package quota

import (
	"sync/atomic"
	"time"
)

// Level says how much of its memory a process has in use, and with that which work it takes on. What is in hand goes on at every level:
// what a level refuses is what has not begun.
type Level uint8

// The levels. What each does beside refusing is done by whoever owns it: see Memory.
const (
	Normal   Level = iota
	Elevated       // what was sent already is not kept for clients that come back, nor an idle connection to a server
	High           // no new session and no new task; nor is what waits for clients that are away
	Critical       // no new call either
)

// levels is the table. A level is entered at a share of the memory, and left below a smaller one, so that a host at the edge does not
// change its mind with every collection. Retry is when whoever is refused may come back: a collection and a burst later.
var levels = [...]struct {
	word         string
	enter, leave float64 // shares of the memory
	begin, call  bool    // a session or a task may begin; a call may
	retry        time.Duration
}{
	Normal:   {"normal", 0, 0, true, true, 0},
	Elevated: {"elevated", 0.70, 0.65, true, true, 0},
	High:     {"high", 0.85, 0.80, false, true, 5 * time.Second},
	Critical: {"critical", 0.95, 0.90, false, false, 2 * time.Second},
}

// String is the level in one word.
func (l Level) String() string { return levels[l].word }

// Next is the level after l when so many bytes of limit are in use. Without a limit there is one level.
func (l Level) Next(use, limit uint64) Level {
	if limit == 0 {
		return Normal
	}
	share := float64(use) / float64(limit)
	next := Critical
	for share < levels[next].enter {
		next--
	}
	for l > next && share < levels[l].leave {
		l--
	}
	return max(l, next)
}

// Begins reports whether a session or a task may begin.
func (l Level) Begins() bool { return levels[l].begin }

// Calls reports whether a call may begin.
func (l Level) Calls() bool { return levels[l].call }

// Retry is when somebody who was refused may come back.
func (l Level) Retry() time.Duration { return levels[l].retry }

// Memory is the level that is in force, for everybody who begins something to look at. One actor sets it. The zero Memory is at Normal, and
// a nil one stays there. It is safe for concurrent use.
type Memory struct{ level atomic.Uint32 }

// Level is what is in force.
func (m *Memory) Level() Level {
	if m == nil {
		return Normal
	}
	return Level(m.level.Load())
}

// Set puts a level in force.
func (m *Memory) Set(l Level) { m.level.Store(uint32(l)) }
