package reconnect

import "time"

// The bounds of a Link.
const (
	// Wait is how long a request waits for a host that is away, from its arrival: a little less than
	// the 60 s that official SDKs wait for an answer, so that their users read the reason.
	Wait = 50 * time.Second
	// MaxHeld is how many requests wait for the host. With those that restore a session they fit into
	// the requests that one connection may have on their way.
	MaxHeld = 240
	// MaxKept is how many bytes of requests without an answer are kept, so that they can be sent to the
	// next host. A request that does not fit is sent while the host is there, and refused while it is away.
	MaxKept = 16 << 20
	// MaxQuestions is how many questions of the host may be open at the client.
	MaxQuestions = 256

	// firstRetry and maxRetry are the least and the longest time between attempts to find the host.
	// They double with each attempt that fails.
	firstRetry, maxRetry = 100 * time.Millisecond, 5 * time.Second
	// hurryRetry is the time between attempts while requests wait for the host.
	hurryRetry = 500 * time.Millisecond
	// refusedRetry is the time between attempts to open a session that the host has refused, as for a
	// wrong key. A new request does not wait so long.
	refusedRetry = 30 * time.Second
	// probeTime is how long a host may take to answer an attempt.
	probeTime = 10 * time.Second
	// maxCuts is how many connections in a row may end before a request was answered, and be replaced
	// at once. The next is replaced after a pause.
	maxCuts = 2
	// maxBreaks is how often requests that restore a session are sent again because the connection of
	// one of them broke.
	maxBreaks = 3
	// listenAgain is the pause before a subscription that the host has ended is opened again.
	listenAgain = time.Second
	// maxSaid is the largest request whose params are kept for what they say of the client.
	maxSaid = 64 << 10
	// levelTime is how long requests wait for a new session to get its log level.
	levelTime = 2 * time.Second
	// restoring is how many requests that restore a session are on their way at once.
	restoring = 8
)
