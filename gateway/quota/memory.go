package quota

import (
	"sync/atomic"
	"time"
)

// Level says how much of its memory a process has in use, and with that which work it takes on.
// What is in hand goes on at every level: a level refuses what has not begun. Tenants that keep more
// than their share (see Ledger) are refused first; the others only when nothing is left.
type Level uint8

// The levels. What each does beside refusing is done by whoever owns it: see Memory.
const (
	Normal    Level = iota
	Elevated        // what was sent already is not kept for clients that come back, nor an idle connection to a server
	High            // tenants above their share: no new session, task or held call. What waits for clients that are away is dropped
	Critical        // tenants above their share: no new call either
	Exhausted       // nobody: no new session, task or call
)

// audience is who may begin something.
type audience uint8

const (
	everybody audience = iota
	modest             // tenants that keep no more than their share
	nobody
)

func (a audience) has(above bool) bool { return a == everybody || a == modest && !above }

// levels is the table. A level is entered at a share of the memory, and left below a smaller one, so that a host at the edge does not
// change its mind with every collection. Retry is when whoever is refused may come back: a collection and a burst later.
var levels = [...]struct {
	word         string
	enter, leave float64  // shares of the memory
	begin, call  audience // for whom a session or a task may begin; a call may
	retry        time.Duration
}{
	Normal:    {"normal", 0, 0, everybody, everybody, 0},
	Elevated:  {"elevated", 0.70, 0.65, everybody, everybody, 0},
	High:      {"high", 0.85, 0.80, modest, everybody, 5 * time.Second},
	Critical:  {"critical", 0.95, 0.90, modest, modest, 2 * time.Second},
	Exhausted: {"exhausted", 1, 0.97, nobody, nobody, 2 * time.Second},
}

// String is the level in one word.
func (l Level) String() string { return levels[l].word }

// Next is the level after l when so many bytes of limit are in use. Without a limit there is one level.
// Exhausted follows Critical only: those above their share are refused before everybody is.
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

// Begins reports whether a tenant, above its share or not, may begin a session, a task or a held call.
func (l Level) Begins(above bool) bool { return levels[l].begin.has(above) }

// Calls reports whether such a tenant may make a call.
func (l Level) Calls(above bool) bool { return levels[l].call.has(above) }

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
