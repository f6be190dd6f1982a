// Package stdio carries MCP messages over standard input and output, one JSON value a line.
//
// On the host's side it starts server programs, watches them and ends them. On the client's side it
// serves a client that started this process. The package does not know what the messages mean, when
// a server is to be started, or whether it is to be started again.
package stdio

import (
	"time"

	"mcpd/protocol"
	"mcpd/transport"
)

// The bounds of this package. A bound that Options or a Spec can change is a default here.
const (
	// MaxMessage bounds one line of a server, in bytes: a tool result carries a file or an image. A
	// longer line fails the request that it answers, and the next line is read. A line without an end
	// ends the connection.
	MaxMessage = protocol.MaxUpstreamMessage
	// MaxStray bounds the bytes of consecutive stray lines, which are no messages. Beyond it the
	// stream counts as something other than MCP: no build or package installation prints as much. Any
	// message in between resets the count. Stray lines are rate-limited (transport.RateLimiter).
	MaxStray = 64 << 20
	// strayLine is added to the bytes of each stray line, so that a flood of short ones ends as well.
	strayLine = 64
	// strayBytes is how much of a stray line is reported: enough to recognise its origin.
	strayBytes = 256

	// maxQueued and maxQueuedBytes bound the messages that wait for a server to read its input: as
	// many as one upstream has in flight by default, with room for cancellations, and the bytes of two
	// request bodies of the largest size. An empty queue always takes one message, whatever its size.
	maxQueued      = 1024
	maxQueuedBytes = 2 * protocol.MaxRequestBody
	// maxRepliedBytes bounds the waiting messages when a response to one of the server's own requests
	// is added. Responses beyond it are dropped, and the server waits for them in vain.
	maxRepliedBytes = 2 * maxQueuedBytes
	// flushTime is how long Close waits for queued messages before it closes the server's input. A
	// server that reads needs far less.
	flushTime = 200 * time.Millisecond

	// exitTime is the time that a server has to exit after it closed its output, so that the report
	// can say how it ended. It is also the time that the processes left behind by an exited server
	// have to fall silent.
	exitTime = 100 * time.Millisecond
	// maxSettle is the longest time that the rest of the standard error of an exited program is waited
	// for. Only a host whose processors are all busy needs so long to empty a pipe.
	maxSettle = 2 * time.Second
	// emptyPipeTime is how long the pipes of an exited program must stay silent before they count as
	// empty. The program's own output is in them already; only processes that it left behind can add
	// to it.
	emptyPipeTime = 20 * time.Millisecond

	// QuietTime is how long a server that owes a response may send nothing before CheckStopped checks
	// whether a signal has stopped it. A server in normal use answers sooner, so most servers are
	// never checked.
	QuietTime = time.Second
	// StopCheckInterval is the interval at which a waiting caller calls CheckStopped. A stopped server
	// is given up after QuietTime and one to two more intervals.
	StopCheckInterval = QuietTime / 4

	// errorPart is how much of standard error is read at once.
	errorPart = transport.PacePart
	// fullPipe is the most that a pipe holds unless its owner is privileged (pipe(7),
	// /proc/sys/fs/pipe-max-size).
	fullPipe = 1 << 20
	// tailBytes is how much of the end of standard error is kept: a stack trace and the line that
	// explains it.
	tailBytes = 4 << 10
	// maxErrorLine bounds one line of standard error. The rest of a longer line is dropped.
	maxErrorLine = 64 << 10

	// DefaultFiles bounds the open files of a child: the usual soft limit of a login shell.
	DefaultFiles = 1024
	// DefaultFileSize bounds a file that a child writes: no log or cache of a server should grow so
	// large unnoticed.
	DefaultFileSize = 1 << 30
	// SettleTime is how long a started child counts as starting when nothing says that it has settled.
	// An interpreter is past the worst of its start by then, and many silent servers must not keep
	// others from starting.
	SettleTime = 300 * time.Millisecond

	// StartRate is the most programs that are started in a second, and StartBurst the most at once
	// after a quiet time. A large configuration has a hundred servers: the rate does not hold up its
	// first start, only starts that go on for longer.
	StartRate  = 20
	StartBurst = 100

	// sweepTime bounds the time for killing what an earlier daemon left behind, and the last look of
	// the guard. A killed process that does not go is stuck in the kernel.
	sweepTime = time.Second
	// blankTime is how long an orphan may be inside exec, where it has no environment, before it
	// counts as none of ours. Exec takes as long as the machine is busy with other things.
	blankTime = time.Second
	// guardPause is the pause before a lost guard is replaced. It doubles up to maxGuardPause, and is
	// reset after a guard that ran for longer than maxGuardPause.
	guardPause    = 10 * time.Millisecond
	maxGuardPause = 10 * time.Second
)
