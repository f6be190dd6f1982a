// Package transport defines what all transports of the host have in common: they carry messages to
// and from a peer. It does not know what the messages mean, who may send them, or how a transport
// frames them.
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

// Errors of a Sink or an Upstream. Each is wrapped at most once.
var (
	// ErrClosed says that the connection or the exchange is over: the message was not sent.
	ErrClosed = errors.New("transport closed")
	// ErrSlowConsumer says that the peer reads more slowly than its messages arrive, and its bounded
	// queue is full.
	ErrSlowConsumer = errors.New("slow consumer")
)

// Sink is the reply side of one downstream exchange. It is safe for concurrent use and never waits
// for the peer.
type Sink interface {
	// Send delivers a message that belongs to this exchange (progress, a log line, a request to the
	// client) before the outcome. It returns ErrClosed after Finish, and ErrSlowConsumer when the
	// bounded queue of the exchange is full. A transport may drop older notifications to make space.
	Send(m jsonrpc.Message) error
	// Finish delivers the one outcome. After the first call it delivers nothing and reports false. The
	// zero Message ends the exchange without a response: its client has cancelled it (2025-11-25
	// §basic/utilities/cancellation).
	Finish(m jsonrpc.Message) bool
}

// Addressed is implemented by the Sink of every client. From returns where the client is, for the
// log: its address as trusted proxies report it, or the name of a transport without addresses.
type Addressed interface{ From() string }

// Inbound is received from an upstream connection: a message, or the report that one of our
// requests failed in transport.
type Inbound struct {
	// Message is what the peer sent. It is empty when Err is set.
	Message jsonrpc.Message
	// RequestID is our request on whose own stream Message arrived, or which Err is about. Zero means
	// that the transport cannot tell.
	RequestID jsonrpc.ID
	// Err, when set, ends the request RequestID and nothing else: the connection lives on.
	Err error
	// Written goes with Err: bytes of the request had reached the peer, which may have executed it.
	Written bool
	// Control carries an event of the transport itself, such as a lost session. Its types are the
	// transport's own.
	Control any
}

// Upstream is one framed connection to a server.
type Upstream interface {
	// Send hands a message to the connection. Stdio queues it for its writer, HTTP starts a POST; the
	// response, or a failure, arrives by Recv. An error means that no byte of the message was or will
	// be written.
	Send(ctx context.Context, m jsonrpc.Message) error
	// Recv returns the next message or event. An error ends the connection: io.EOF, ErrClosed,
	// *ExitError or the failure that broke it; an error of ctx only ends the call.
	Recv(ctx context.Context) (Inbound, error)
	// Negotiated sets the revision from now on. It decides the version header and whether arrays are
	// sent.
	Negotiated(v protocol.Version)
	// Close ends the connection politely, then by force, both within ctx. It is idempotent.
	Close(ctx context.Context) error
	// Info describes the connection to an operator.
	Info() Info
}

// Prompt is an Upstream that can hand over the response to a request from the goroutine that reads
// it. This saves the caller of Recv a wake-up.
type Prompt interface {
	// Answers registers take, which is offered each response that arrives alone and while nothing
	// waits for Recv. Recv returns the responses that take refuses. Take must not wait, and may be
	// called by several goroutines at once. Answers must be called before the first Send.
	Answers(take func(Inbound) bool)
}

// Lender is a Sink whose goroutine waits for the outcome, and may carry the request upstream
// meanwhile.
type Lender interface {
	Sink
	// Lend has that goroutine run an errand soon. It reports false when the goroutine has no time for
	// it. The errand is recalled when the goroutine has something else to do.
	Lend(e Errand) bool
}

// Errand is work that a waiting goroutine does. It is run once.
type Errand interface {
	// Run waits only for things that Recall ends, and does at once all that needs no wait.
	Run()
	// Recall makes Run return soon. It may be called before Run, during and after, by any goroutine,
	// any number of times.
	Recall()
}

// Borrower is an Upstream that can send a request as the errand of the goroutine that waits for its
// response. This saves a goroutine.
type Borrower interface {
	// SendBy is Send for such a request.
	SendBy(ctx context.Context, m jsonrpc.Message, by Lender) error
}

// As returns the connection, or the first one wrapped by it, that is a T, for abilities that only
// some transports have. A connection that wraps another has a method Unwrap that returns it.
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

// IsConnectionLost reports whether err is the loss of a connection rather than an error received
// over it.
func IsConnectionLost(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// IsUnreachable reports whether err says that no connection to the server could be made, so that no
// byte of the request was sent.
func IsUnreachable(err error) bool {
	var op *net.OpError
	var name *net.DNSError
	return errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect") || errors.As(err, &name)
}

// Info describes a connection to an operator. It never holds a credential.
type Info struct {
	Transport string // "stdio", "streamable", "sse", "pipe"
	PID       int    // of the child process; 0 where there is none
	URL       string // of the endpoint, without user information or query; "" where there is none
	// Correlates says that all messages that the server sends during a call name that call: see
	// Inbound.Related.
	Correlates bool
	// Stateless says that the handshake is done and the server keeps no session. Such a server cannot
	// send requests or unsolicited notifications in the legacy era.
	Stateless bool
}

// ExitError describes how a child process ended. Recv returns it from then on.
type ExitError struct {
	// Cause classifies the ending in one or two words, from the list of the transport that made it.
	Cause string
	// Code is the exit code, or -1 when a signal ended the process or the code is not known.
	Code int
	// Signal names the signal that ended the process, such as "SIGKILL"; empty for none.
	Signal string
	// Stderr is the bounded tail of the process's standard error.
	Stderr []byte
	// Err is the failure behind the ending, if there was one.
	Err error
}

// Error names the cause and, when a process has ended, how. Callers that need the standard error
// use Stderr.
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

// Unwrap returns the failure behind the ending.
func (e *ExitError) Unwrap() error { return e.Err }

// CloseStream is the Control by which a server asks to close the stream of the request RequestID.
// The client of that stream reconnects after Retry to receive the rest (2025-11-25
// §basic/transports, "Sending Messages to the Server" 6).
type CloseStream struct{ Retry time.Duration }
