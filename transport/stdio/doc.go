// Package stdio carries MCP messages over standard input and output, one JSON value a line: towards server programs, which it starts,
// watches and ends, and towards a client that started us. It does not know what the messages mean, when a server is to be started, or
// whether it is to be started again.
package stdio

import (
	"time"

	"mcpd/protocol"
	"mcpd/transport"
)

// The bounds of this package. What Options or a Spec can change is a default here.
const (
	// MaxMessage bounds one line of a server: a tool result carries a file or an image. A longer one fails the request that it answers, and
	// the next line is read. One without an end ends the connection.
	MaxMessage = protocol.MaxUpstreamMessage
	// MaxStray bounds the bytes of lines in a row that are no messages before the stream counts as
	// something else than MCP: no build or package installation prints as much. Any message in
	// between starts the count anew. They are read at a pace (transport.Pace).
	MaxStray = 64 << 20
	// strayLine is added to the bytes of each such line: a flood of short ones ends as well.
	strayLine = 64
	// strayBytes is how much of such a line is reported: enough to recognise where it comes from.
	strayBytes = 256

	// maxQueued and maxQueuedBytes bound what waits for a server to read its input: as many messages as one upstream has in
	// flight unless the options say otherwise, with room for cancellations, and two of the largest request bodies. One message always fits an empty queue.
	maxQueued      = 1024
	maxQueuedBytes = 2 * protocol.MaxRequestBody
	// maxRepliedBytes bounds what waits when there are answers to what the server asked. Beyond it they are dropped, and their server waits.
	maxRepliedBytes = 2 * maxQueuedBytes
	// flushTime is how long Close waits for queued messages before it closes the server's input: a reading server needs far less.
	flushTime = 200 * time.Millisecond

	// exitTime is how long a server that closed its output is given to be seen exiting, so that the report can say how it ended, and how long one that
	// has exited what it left behind to fall silent.
	exitTime = 100 * time.Millisecond
	// drainTime is how long the pipes of a program that has exited must stay silent before they count as empty. Its own output is in
	// them already; only what it left behind can add to it.
	drainTime = 20 * time.Millisecond

	// Quiet is how long nothing may have come of a server that something is waited for until it is looked at whether it was stopped. A
	// server that is used answers sooner, so that most are never looked at.
	Quiet = time.Second
	// LookEvery is how often whoever waits calls Look: a server that is stopped is given up when it has been quiet for Quiet and one to two
	// times this beyond.
	LookEvery = Quiet / 4

	// errorPart is how much of standard error is read at once.
	errorPart = transport.PacePart
	// fullPipe is what a pipe holds at most unless its owner is privileged (pipe(7), /proc/sys/fs/pipe-max-size).
	fullPipe = 1 << 20
	// tailBytes is how much of the end of standard error is kept: a stack trace and the line that explains it.
	tailBytes = 4 << 10
	// maxErrorLine bounds one line of standard error; the rest of a longer one is dropped up to its end.
	maxErrorLine = 64 << 10

	// DefaultFiles bounds the open files of a child: the usual soft limit of a login shell.
	DefaultFiles = 1024
	// DefaultFileSize bounds a file that a child writes: no log or cache of a server grows so large before somebody should know of it.
	DefaultFileSize = 1 << 30
	// SettleTime is how long a started child holds its place among the starting ones when nobody says that it has settled. An interpreter
	// is past the worst of its start by then; many servers that say nothing must not keep others from starting.
	SettleTime = 300 * time.Millisecond

	// StartRate is how many programs are started in a second at most, and StartBurst how many at once after a quiet time: a large
	// configuration has a hundred servers, and its first start is not held up, only what goes on for longer.
	StartRate  = 20
	StartBurst = 100

	// sweepTime bounds what is spent on killing what an earlier daemon left, and on the guard's last look: what is killed and does not go is
	// stuck in the kernel.
	sweepTime = time.Second
	// blankTime is how long an orphan may be on its way into a program, where it has no environment, before it counts as none of ours: such
	// a moment lasts as long as the machine is busy with others.
	blankTime = time.Second
	// guardPause is before a lost guard is replaced. It doubles up to maxGuardPause, and starts anew after a guard that lasted longer.
	guardPause    = 10 * time.Millisecond
	maxGuardPause = 10 * time.Second
)
