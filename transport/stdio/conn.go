package stdio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// Options configure a Conn. The zero value is usable.
type Options struct {
	// MaxMessage bounds one message of the server, in bytes. 0 is MaxMessage.
	MaxMessage int
	// MaxDepth and MaxMembers bound the nesting of one message, and the members of one object. 0 is
	// protocol.MaxUpstreamDepth and protocol.MaxUpstreamMembers.
	MaxDepth, MaxMembers int
	// Queue is how many messages may wait for the server to read them. 0 is enough for
	// protocol.MaxPending requests.
	Queue int
	// Queued is called with the number of bytes that begin to wait for the server to read them, and
	// with a negative number when bytes are written or dropped. It must not wait, and may be nil.
	Queued func(bytes int)
	// Room bounds the bytes of responses until their clients have read them. Nil has no bound.
	Room *transport.ByteBudget
	// Stray is called for each line of the server that is no message, in the goroutine that calls
	// Recv. It may be nil.
	Stray func(Stray)
}

// Stray is a line among a server's messages that is no message.
type Stray struct {
	Line      string // the beginning, at most 256 bytes
	Truncated bool   // the line was longer
	Err       error  // why it is no message
	Run       int    // its number among consecutive stray lines, from 1
}

// Conn is an upstream connection over a child's standard input and output. Recv is for one caller
// at a time, the other methods for any number.
type Conn struct {
	child  *Child
	limits jsonrpc.Limits
	stray  func(Stray)

	out     *queue
	written chan struct{} // closed when the writer has ended
	broken  atomic.Bool   // the writer ended because the server takes no more bytes
	stopped stopDetector  // detects a server that a signal has stopped

	version   atomic.Uint32          // protocol.Version; 0 before the handshake
	lastStray atomic.Pointer[string] // the beginning of the last stray line; nil for none
	closing   atomic.Bool
	close     func(context.Context) error

	reading  sync.Mutex // held during Recv; guards what follows
	src      output
	in       lines
	ready    []transport.Inbound // was read already, or found lost at the end
	strayRun int                 // consecutive stray lines
	settled  bool
	// strayBytes counts the bytes of consecutive stray lines, with strayLine for each.
	strayTotal int
	end        error                 // the error that Recv returns from now on
	strays     transport.RateLimiter // rate-limits stray lines
	exempted   bool                  // the rest in the pipe was exempted from the rate limit
}

var _ transport.Upstream = (*Conn)(nil)

// NewConn connects to a child and starts its writer, which ends with Close.
func NewConn(child *Child, o Options) *Conn {
	limits := protocol.UpstreamLimits()
	limits.Depth, limits.Keys = cmp.Or(o.MaxDepth, limits.Depth), cmp.Or(o.MaxMembers, limits.Keys)
	if o.MaxMessage > 0 {
		limits.Bytes = o.MaxMessage
	}
	c := &Conn{
		child:  child,
		limits: limits,
		stray:  o.Stray,
		out: newQueue(bounds{count: cmp.Or(o.Queue, maxQueued), bytes: maxQueuedBytes,
			urgent: maxRepliedBytes}, o.Queued),
		written: make(chan struct{}),
		stopped: stopDetector{began: time.Now()},
	}
	c.stopped.heard() // a new server does not count as quiet
	c.src = output{file: child.stdout, over: c.over, heard: c.stopped.heard}
	c.in = lines{
		src: &c.src, max: limits.Bytes, reservation: transport.NewReservation(o.Room), pace: c.pace,
	}
	var once sync.Once
	var err error
	c.close = func(ctx context.Context) error {
		once.Do(func() { err = c.shut(ctx) })
		return err
	}
	go c.write() // owner: shut waits for it
	return c
}

// write is the writer. It closes the server's input when all messages are written.
func (c *Conn) write() {
	defer close(c.written)
	defer c.child.stdin.Close()
	if err := c.out.drain(c.child.stdin); err != nil {
		c.broken.Store(true)
		// Wakes Recv, which reads the rest and reports how the program ended.
		c.child.stdout.SetReadDeadline(time.Now().Add(emptyPipeTime))
	}
}

// over reports that no new output will come: the program has exited, has closed its input, or is
// stopped.
func (c *Conn) over() bool {
	_, exited := c.child.Exit()
	return exited || c.broken.Load() || c.stopped.confirmed.Load()
}

// Send queues a message. It never waits for the server: it returns transport.ErrSlowConsumer when
// the queue is full, and transport.ErrClosed when the connection has ended. A server may write all
// its requests before it reads a response, so responses are bounded by their bytes alone.
func (c *Conn) Send(_ context.Context, m jsonrpc.Message) error {
	if m.Kind() == jsonrpc.KindRequest {
		c.stopped.asked()
	}
	return c.out.put(m, m.Method == "")
}

// Fits reports whether the queue has room now for a request with params of so many bytes. It is
// true after the connection has ended: Send then returns transport.ErrClosed.
func (c *Conn) Fits(bytes int) bool { return c.out.has(bytes) }

// Negotiated notes the revision at the end of the handshake. In a revision with batches the server
// may send arrays from now on.
func (c *Conn) Negotiated(v protocol.Version) { c.version.Store(uint32(v)) }

// Info returns the transport and the process id.
func (c *Conn) Info() transport.Info {
	return transport.Info{Transport: "stdio", PID: c.child.Pid()}
}

// Recv returns the next message. When the connection ends, Recv first returns each request that was
// not written, or not completely, as an Inbound with Err; a request that is not returned so was
// written. Then it returns, on every call, the *transport.ExitError, or transport.ErrClosed after
// Close.
func (c *Conn) Recv(ctx context.Context) (transport.Inbound, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	for {
		if len(c.ready) > 0 {
			in := c.ready[0]
			c.ready[0] = transport.Inbound{}
			c.ready = c.ready[1:]
			return in, nil
		}
		if c.end != nil {
			return transport.Inbound{}, c.end
		}
		line, err := c.in.next(ctx)
		var in transport.Inbound
		var found bool
		long, tooLong := errors.AsType[*longLine](err)
		switch {
		case err == nil:
			in, found, err = c.read(line)
		case tooLong:
			err = c.tooLong(long)
		case ctx.Err() != nil && errors.Is(err, ctx.Err()):
			if c.closing.Load() {
				c.in.reservation.Free()
			}
			return transport.Inbound{}, err
		}
		switch {
		case err != nil:
			c.finish(ctx, err)
		case found:
			c.strays.Spare(transport.PaceMessage)
			return in, nil
		case len(c.ready) == 0: // not an array of messages
			length := len(line)
			if long != nil {
				length = long.max // the rest of it is rate-limited already
			}
			c.pace(ctx, length)
		}
	}
}

// pace rests when stray lines come too fast; length is that of the last one. The output that a
// program leaves in the pipe at its end is exempt, because Recv waits for it.
func (c *Conn) pace(ctx context.Context, length int) {
	c.in.reservation.Free() // a stray line needs no room
	long := c.strays.Take(transport.Parts(length), time.Now())
	if long > 0 && !c.exempted && c.over() {
		c.exempted = true
		c.strays.Spare(fullPipe + lineBuffer)
		return
	}
	transport.Rest(ctx, long)
}

// finish finds out how the connection ended and which requests were not written.
func (c *Conn) finish(ctx context.Context, err error) {
	c.src.release()
	c.in.reservation.Free()
	c.child.stdin.Close() // so that the writer cannot be held up
	c.out.finish()
	<-c.written
	cause := c.why(ctx, err)
	for _, l := range c.out.close() {
		c.ready = append(c.ready, transport.Inbound{RequestID: l.id, Err: cause, Written: l.begun})
	}
	c.end = cause
}

// why returns how the connection ended. A program that broke its pipes is usually exiting, so it
// gets exitTime to do so.
func (c *Conn) why(ctx context.Context, err error) error {
	cause := ""
	switch {
	case errors.Is(err, errEndless):
		cause = CauseOversized
	case errors.Is(err, errStray):
		cause = CauseStray
	case c.closing.Load():
		return transport.ErrClosed
	case c.stopped.confirmed.Load():
		cause, err = CauseStopped, nil
	default:
		if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) {
			err = nil
		}
		timer := time.NewTimer(exitTime)
		defer timer.Stop()
		select {
		case <-c.child.exited:
		case <-timer.C:
			cause = CauseOutput
			if c.broken.Load() {
				cause = CauseInput
			}
		case <-ctx.Done():
		}
	}
	exit, exited := c.child.Exit()
	if exited {
		c.child.stderr.settle()
	}
	if fault := c.child.stderr.failure(); fault != nil {
		err = fault
	}
	e := ending(cause, exit, exited, c.version.Load() != 0, c.child.Stderr(), err)
	if e.Cause == CauseHandshake && e.Err == nil {
		e.Err = c.printed()
	}
	return e
}

// printed describes what the program wrote to its standard output in place of messages; nil for
// nothing.
func (c *Conn) printed() error {
	if said := c.lastStray.Load(); said != nil {
		return fmt.Errorf("it wrote %q to its standard output, which is not a message", *said)
	}
	return nil
}

// Printed returns the tail of the program's standard error, and what the program has written to its
// standard output in place of messages, nil for nothing.
func (c *Conn) Printed() (stderr []byte, said error) { return c.child.Stderr(), c.printed() }

// Unready returns the ending of a program that still runs and was not ready within a time.
func (c *Conn) Unready(within time.Duration) error {
	err := fmt.Errorf("none within %s", within)
	if said := c.printed(); said != nil {
		err = fmt.Errorf("%w, and %w", err, said)
	}
	return &transport.ExitError{Cause: CauseUnready, Code: -1, Stderr: c.child.Stderr(), Err: err}
}

// freeRoom releases the room of the message that was read last: as a rule Recv is not called again.
// A Recv that runs just now finds the end of the connection by itself and releases the room then.
func (c *Conn) freeRoom() {
	if c.reading.TryLock() {
		c.in.reservation.Free()
		c.reading.Unlock()
	}
}

// Close writes the queued messages, if the server still reads, and ends the program with all
// processes that it started.
func (c *Conn) Close(ctx context.Context) error { return c.close(ctx) }

func (c *Conn) shut(ctx context.Context) error {
	c.closing.Store(true)
	defer c.freeRoom()
	c.out.finish()
	timer := time.NewTimer(flushTime)
	defer timer.Stop()
	select {
	case <-c.written:
	case <-timer.C:
	case <-ctx.Done():
	}
	err := c.child.Stop(ctx)
	<-c.written
	if err != nil {
		return fmt.Errorf("stdio server: %w", err)
	}
	return nil
}
