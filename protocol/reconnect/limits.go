package reconnect

import "time"

// The bounds of a Link.
const (
	// Wait is the time that a request waits for an absent host, from its arrival: 50 s. Official SDKs
	// wait 60 s for an answer, so their users still see the reason of a failure.
	Wait = 50 * time.Second
	// MaxHeld bounds the requests that wait for the host. Together with the requests that restore a
	// session they fit into the requests that one connection may have in flight.
	MaxHeld = 240
	// MaxStoredBytes bounds the stored requests without an answer, in bytes: 16 MiB. They are stored
	// so that the next host can receive them. A request that does not fit is sent if the host is
	// present, and refused if it is away.
	MaxStoredBytes = 16 << 20
	// MaxQuestions bounds the open questions of the host at the client.
	MaxQuestions = 256

	// firstRetry and maxRetry are the shortest and the longest time between attempts to reach the
	// host. The time doubles with each failed attempt.
	firstRetry, maxRetry = 100 * time.Millisecond, 5 * time.Second
	// hurryRetry is the time between attempts while requests wait for the host.
	hurryRetry = 500 * time.Millisecond
	// refusedRetry is the time between attempts to open a session that the host has refused, for
	// example for a wrong key. A new request triggers an earlier attempt.
	refusedRetry = 30 * time.Second
	// probeTime is the time that a host has to answer an attempt.
	probeTime = 10 * time.Second
	// maxCuts bounds the connections in a row that end without an answer and are replaced at once. The
	// next connection is replaced after a pause.
	maxCuts = 2
	// maxBreaks bounds the repetitions of requests that restore a session after broken connections.
	maxBreaks = 3
	// listenAgain is the pause before a subscription that the host has ended is opened again.
	listenAgain = time.Second
	// maxIdentity is the size of the largest request whose params are stored to identify the client,
	// in bytes: 64 KiB.
	maxIdentity = 64 << 10
	// levelTime is the time that requests wait for the log level of a new session.
	levelTime = 2 * time.Second
	// restoring bounds the requests in flight that restore a session.
	restoring = 8
)
