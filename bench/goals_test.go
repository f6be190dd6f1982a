package bench

import (
	"time"

	"mcpd/internal/load"
)

// The goals, and why each is what it is. Those that are absolute are held by the full form, on a machine of its own; those that are
// ratios by both.
const (
	// crashGoal bounds the 99th percentile from a panic to the next message served. A session sees a crash as one slow message then, and
	// a millisecond is what a busy machine adds to any message now and then.
	crashGoal = time.Millisecond

	// sessionGoal bounds what an idle session costs beyond its connection. net/http takes some 20 KiB for that, so a host whose own share
	// is half of it can hold as many clients as its machine can hold connections.
	sessionGoal = 10 << 10 // bytes

	// startGoal bounds the time from exec to ready. Clients that spawn or wait for a host give it about a second, and people notice
	// from a few hundred milliseconds on.
	startGoal = 300 * time.Millisecond
)

var (
	// crashLimit bounds the same crash by its parts: how much longer the real tree takes than a bare row of the actor library under the
	// same panic. The rest is the handover of state and the log, which must stay as cheap as the restart itself.
	crashLimit = load.AtMost(5)

	// sessionLimit is sessionGoal as a ratio: a session with its connection against the connection and the goal.
	sessionLimit = load.AtMost(1)

	// startLimit bounds a start with serverCount servers by one with a single server: servers are started when they are asked for, so
	// they may cost the start no more than their lines in the configuration.
	startLimit = load.AtMost(2)
)
