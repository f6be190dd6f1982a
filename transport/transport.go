// Package transport names what every way into and out of the host has in common: messages to and from a peer. It does not know what
// the messages mean, who may send them, or how any one transport frames them.
package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// Errors that a Sink or an Upstream answers with. Each is wrapped at most once.
var (
	// ErrClosed says that the connection, or the exchange, is over: the message went nowhere.
	ErrClosed = errors.New("transport closed")
	// ErrSlowConsumer says that the peer reads slower than its messages arrive and that its bounded queue is full.
	ErrSlowConsumer = errors.New("slow consumer")
)

// Sink is the reply side of one downstream exchange. It is safe for concurrent use and never waits for the peer.
type Sink interface {
	// Send delivers a message that belongs to this exchange (progress, a log line, a request to the client) before its end.
	// It returns ErrClosed after Finish, and ErrSlowConsumer when the bounded queue of the exchange has no room for it. A transport may
	// drop older notifications to make some.
	Send(m jsonrpc.Message) error
	// Finish delivers the one outcome. It reports false, and delivers nothing, when there was one already. The zero Message ends the
	// exchange without an answer: its client has cancelled it (2025-11-25 §basic/utilities/cancellation).
	Finish(m jsonrpc.Message) bool
}

// Addressed is implemented by the Sink of every client. From says where the client is, for the log:
// its address as trusted proxies have it, or the transport's name where that has no addresses.
type Addressed interface{ From() string }

// Inbound is what an upstream connection yields: a message, or the news that one of our requests failed in transport.
type Inbound struct {
	// Message is what the peer sent. It is empty when Err is set.
	Message jsonrpc.Message
	// Related is our request on whose own stream Message arrived, or which Err is about. Zero means that the transport cannot tell.
	Related jsonrpc.ID
	// Err, when set, ends the request Related and nothing else: the connection lives on.
	Err error
	// Written goes with Err: bytes of the request had reached the peer, which may have acted on it.
	Written bool
	// Control carries news of the transport itself, such as a lost session. Its types are the transport's own.
	Control any
}

// Upstream is one framed connection to a server.
type Upstream interface {
	// Send hands a message to the connection. Stdio queues it for its writer, HTTP starts a POST; what becomes of it arrives by Recv.
	// An error means that no byte of the message was or will be written.
	Send(ctx context.Context, m jsonrpc.Message) error
	// Recv returns the next thing the peer sent. An error ends the connection: io.EOF, ErrClosed, *ExitError or what broke it;
	// an error of ctx only ends the call.
	Recv(ctx context.Context) (Inbound, error)
	// Negotiated says which revision is spoken from now on. It decides the version header and whether arrays are sent.
	Negotiated(v protocol.Version)
	// Close ends the connection politely, then hard; both within ctx. It is idempotent.
	Close(ctx context.Context) error
	// Info describes the connection to an operator.
	Info() Info
}

// Prompt is an Upstream that can hand over the answer to a request where it reads it, and spare its
// reader a turn.
type Prompt interface {
	// Answers has each answer that came alone, and behind nothing that waits for Recv, given to take.
	// Recv returns those that it does not take. Take must not wait, and may be called by several
	// goroutines at once. Answers comes before the first Send.
	Answers(take func(Inbound) bool)
}

// Lender is a Sink whose goroutine waits for the outcome, and may carry the request meanwhile.
type Lender interface {
	Sink
	// Lend has that goroutine run an errand soon, and reports false when it has no time for one. It is
	// recalled when there is something else to do.
	Lend(e Errand) bool
}

// Errand is what a goroutine does that waits. It is run once.
type Errand interface {
	// Run waits for nothing but what Recall ends, and does at once what can be done without a wait.
	Run()
	// Recall has Run return soon. It may be called before Run, during and after, by any goroutine, and
	// as often as one likes.
	Recall()
}

// Borrower is an Upstream that can send a request as the errand of who waits for its answer. It
// spares a goroutine.
type Borrower interface {
	// SendBy is Send for such a request.
	SendBy(ctx context.Context, m jsonrpc.Message, by Lender) error
}

// As is the connection, or the first that it wraps, that is a T: what only some transports can do. One that wraps another has a method
// Unwrap that returns it.
func As[T any](up Upstream) (T, bool) {
	for up != nil {
		if t, ok := up.(T); ok {
			return t, true
		}
		w, ok := up.(interface{ Unwrap() Upstream })
		if !ok {
			break
		}
		up = w.Unwrap()
	}
	var none T
	return none, false
}

// SSE is the Info.Transport of HTTP+SSE, which revisions without a handshake do not have.
const SSE = "sse"

// Severed reports whether err is the end of a line rather than something that came over it.
func Severed(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// Unreached reports whether err says that no connection to the server could be made, so that nothing
// of what was to be sent has left.
func Unreached(err error) bool {
	var op *net.OpError
	var name *net.DNSError
	return errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect") || errors.As(err, &name)
}

// Info describes a connection to an operator. It never holds a credential.
type Info struct {
	Transport string // "stdio", "streamable", "sse", "pipe"
	PID       int    // of the child process; 0 where there is none
	URL       string // of the endpoint, without user information or query; "" where there is none
	// Correlates says that whatever the server sends during a call names that call: see Inbound.Related.
	Correlates bool
	// Stateless says that the server was greeted and keeps no session, so that it can ask and announce nothing in the legacy era.
	Stateless bool
}

// ExitError says how a child process ended. It is what Recv returns from then on.
type ExitError struct {
	// Cause names the class of the ending in one or two words, from the list of the transport that made it.
	Cause string
	// Code is the exit code, or -1 when a signal ended the process or it is not known.
	Code int
	// Signal names the signal that ended the process, as "SIGKILL"; empty when none did.
	Signal string
	// Stderr is the bounded tail of what the process wrote to its standard error.
	Stderr []byte
	// Err is the failure behind it, if there was one.
	Err error
}

// Error names the cause and, when a process has ended, how. The standard error is for whoever asks for it.
func (e *ExitError) Error() string {
	text := "server: " + e.Cause
	switch {
	case e.Signal != "":
		text += " by " + e.Signal
	case e.Code >= 0:
		text += fmt.Sprintf(", exit code %d", e.Code)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the failure behind the ending.
func (e *ExitError) Unwrap() error { return e.Err }

// CloseStream is the Control by which a server asks that the stream of the request Related be closed, for its client to come back for
// the rest after Retry (2025-11-25 §basic/transports, "Sending Messages to the Server" 6).
type CloseStream struct{ Retry time.Duration }
