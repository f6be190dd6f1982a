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

	// negotiationGoal bounds what is pure in the first message of a client and its answer, and bridgeGoal in a call and its answer between
	// two eras: both are to be lost in what HTTP takes for them.
	negotiationGoal = 10 * time.Microsecond
	bridgeGoal      = 20 * time.Microsecond

	// bridgeAllocations bounds how often a call and its answer between two eras ask for memory, beyond the same with only the ids
	// exchanged: fewer than ten times. It holds in both forms, since it does not depend on the machine.
	bridgeAllocations = 9
)

var (
	// restartLimit bounds the restart of a permanent actor by that of a bare row of the actor library under the same panic: what is added
	// is the handover of state and the log, which must stay as cheap as the restart itself.
	restartLimit = load.AtMost(4)

	// attachLimit bounds the same for a session, which is started anew: asked for, found gone, and attached by the session manager.
	attachLimit = load.AtMost(10)

	// reconnectLimit bounds the same for a connection, whose next call waits for a server to start, a handshake and four lists.
	reconnectLimit = load.AtMost(50)

	// sessionLimit is sessionGoal as a ratio: a session with its connection against the connection and the goal.
	sessionLimit = load.AtMost(1)

	// startLimit bounds a start with serverCount servers by one with a single server: servers are started when they are asked for, so
	// they may cost the start no more than their lines in the configuration.
	startLimit = load.AtMost(2)

	// callLimit bounds the calls a second through the host by those of a bare HTTP server that answers at once. Proxies that parse what
	// they forward keep about half; below a quarter there is something on the way of a call that does not belong there.
	callLimit = load.AtLeast(0.25)
)
