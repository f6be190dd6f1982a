package bench

import (
	"time"

	"mcpd/internal/load"
)

// crashGoal bounds the 99th percentile from a panic to the next message served. A session sees a crash as one slow message then, and
// a millisecond is what a busy machine adds to any message now and then. The full form holds it, on a machine of its own.
const crashGoal = time.Millisecond

var (
	// restartLimit bounds the restart of a permanent actor by that of a bare row of the actor library under the same panic: what is added
	// is the handover of state and the log, which must stay as cheap as the restart itself.
	restartLimit = load.AtMost(4)

	// attachLimit bounds the same for a session, which is started anew: asked for, found gone, and attached by the session manager.
	attachLimit = load.AtMost(10)

	// reconnectLimit bounds the same for a connection, whose next call waits for a server to start, a handshake and four lists.
	reconnectLimit = load.AtMost(50)
)
