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

// Options are what a Conn is made from besides its child. The zero value is usable.
type Options struct {
	// MaxMessage bounds one message of the server, in bytes. 0 is MaxMessage.
	MaxMessage int
	// MaxDepth and MaxMembers bound what is nested in one, and the members of one object. 0 is
	// protocol.MaxAnswerDepth and protocol.MaxAnswerMembers.
	MaxDepth, MaxMembers int
	// Queue is how many messages may wait for the server to read them. 0 is enough for protocol.MaxPending requests.
	Queue int
	// Queued is called when bytes begin to wait for the server to read them, and with a negative number
	// when they are written or dropped. It must not wait, and may be nil.
	Queued func(bytes int)
	// Room is what answers need until their clients have read them. Nil has no bound.
	Room *transport.Room
	// Stray is called for each line of the server that is no message, in the goroutine that calls Recv. It may be nil.
	Stray func(Stray)
}

// Stray is a line that a server wrote among its messages and that is none.
type Stray struct {
	Line string // its beginning, at most 256 bytes
	Cut  bool   // there was more of it
	Why  error  // what it lacks
	Run  int    // the how-manieth it is without a message in between
}

// Conn is an upstream connection over a child's standard input and output. Recv is for one caller at a time, the rest for any number.
type Conn struct {
	child  *Child
	limits jsonrpc.Limits
	stray  func(Stray)

	out     *queue
	written chan struct{} // closed when the writer has ended
	broken  atomic.Bool   // it ended because the server does not take bytes any more
	stopped sight         // whether the server was stopped

	version atomic.Uint32          // protocol.Version; 0 before the handshake
	said    atomic.Pointer[string] // the beginning of its last stray line; nil for none
	closing atomic.Bool
	close   func(context.Context) error

	reading sync.Mutex // held by whoever calls Recv, and guards what follows
	src     output
	in      lines
	ready   []transport.Inbound // read already, or found lost at the end
	inARow  int                 // stray lines
	settled bool
	// astrayBytes are those of stray lines in a row, with strayLine for each.
	astrayBytes int
	end         error          // what Recv answers from now on
	strays      transport.Pace // of the lines that are no messages
	spared      bool           // what was left in the pipe
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
		child:   child,
		limits:  limits,
		stray:   o.Stray,
		out:     newQueue(bounds{count: cmp.Or(o.Queue, maxQueued), bytes: maxQueuedBytes, urgent: maxRepliedBytes}, o.Queued),
		written: make(chan struct{}),
		stopped: sight{began: time.Now()},
	}
	c.stopped.heard() // it has its first chance
	c.src = output{file: child.stdout, over: c.over, heard: c.stopped.heard}
	c.in = lines{src: &c.src, max: limits.Bytes, room: transport.NewHold(o.Room), rest: c.pace}
	var once sync.Once
	var err error
	c.close = func(ctx context.Context) error {
		once.Do(func() { err = c.shut(ctx) })
		return err
	}
	go c.write() // owner: shut waits for it
	return c
}

// write is the writer. It closes the server's input when all is written.
func (c *Conn) write() {
	defer close(c.written)
	defer c.child.stdin.Close()
	if err := c.out.drain(c.child.stdin); err != nil {
		c.broken.Store(true)
		c.child.stdout.SetReadDeadline(time.Now().Add(drainTime)) // wakes Recv, which reads what is left and says how it ended
	}
}

// over says that nothing new will come: the program has exited, has closed its input, or is stopped.
func (c *Conn) over() bool {
	_, exited := c.child.Exit()
	return exited || c.broken.Load() || c.stopped.ends.Load()
}

// Send queues a message. It never waits for the server: a full queue is transport.ErrSlowConsumer, an ended connection
// transport.ErrClosed. A server may write all that it asks before it reads an answer, so that answers are bounded by their bytes alone.
func (c *Conn) Send(_ context.Context, m jsonrpc.Message) error {
	if m.Kind() == jsonrpc.KindRequest {
		c.stopped.asked()
	}
	return c.out.put(m, m.Method == "")
}

// Fits reports whether a request with params of that many bytes can be queued now.
func (c *Conn) Fits(bytes int) bool { return c.out.has(bytes) }

// Negotiated ends the handshake. In a revision with batches the server may send arrays from now on.
func (c *Conn) Negotiated(v protocol.Version) { c.version.Store(uint32(v)) }

// Info names the process.
func (c *Conn) Info() transport.Info { return transport.Info{Transport: "stdio", PID: c.child.Pid()} }

// Recv returns the next message. When the connection ends it first returns each request that was not written, or not completely, as an
// Inbound with Err; a request of which nothing is said was written. Then it returns the *transport.ExitError, or transport.ErrClosed
// after Close, for ever.
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
				c.in.room.Free()
			}
			return transport.Inbound{}, err
		}
		switch {
		case err != nil:
			c.finish(ctx, err)
		case found:
			c.strays.Spare(transport.PaceMessage)
			return in, nil
		case len(c.ready) == 0: // it was not an array of messages
			length := len(line)
			if long != nil {
				length = long.max // the rest of it has had its pace
			}
			c.pace(ctx, length)
		}
	}
}

// pace rests, where lines of that length that are no messages come too fast. What a program leaves in the pipe at its end is waited for, and has none.
func (c *Conn) pace(ctx context.Context, length int) {
	c.in.room.Free() // the line is nobody's
	long := c.strays.Take(transport.Parts(length), time.Now())
	if long > 0 && !c.spared && c.over() {
		c.spared = true
		c.strays.Spare(fullPipe + lineBuffer)
		return
	}
	transport.Rest(ctx, long)
}

// finish finds out how the connection ended, and which requests it left behind.
func (c *Conn) finish(ctx context.Context, err error) {
	c.src.release()
	c.in.room.Free()
	c.child.stdin.Close() // so that the writer cannot be held up
	c.out.finish()
	<-c.written
	why := c.why(ctx, err)
	for _, l := range c.out.close() {
		c.ready = append(c.ready, transport.Inbound{Related: l.id, Err: why, Written: l.begun})
	}
	c.end = why
}

// why names the ending. A program that broke its pipes is usually just exiting, so it is given a moment to say so.
func (c *Conn) why(ctx context.Context, err error) error {
	cause := ""
	switch {
	case errors.Is(err, errEndless):
		cause = CauseOversized
	case errors.Is(err, errStray):
		cause = CauseStray
	case c.closing.Load():
		return transport.ErrClosed
	case c.stopped.ends.Load():
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

// printed says what the program wrote to its standard output in the place of messages; nil for nothing.
func (c *Conn) printed() error {
	if said := c.said.Load(); said != nil {
		return fmt.Errorf("it wrote %q to its standard output, which is no message", *said)
	}
	return nil
}

// Printed returns the last of the program's standard error, and says what it has written to its
// standard output in the place of messages, nil for nothing.
func (c *Conn) Printed() (stderr []byte, said error) { return c.child.Stderr(), c.printed() }

// Unready is the ending of a program that is still running and was not ready within a time.
func (c *Conn) Unready(within time.Duration) error {
	err := fmt.Errorf("none within %s", within)
	if said := c.printed(); said != nil {
		err = fmt.Errorf("%w, and %w", err, said)
	}
	return &transport.ExitError{Cause: CauseUnready, Code: -1, Stderr: c.child.Stderr(), Err: err}
}

// freeRoom lets go of the room of what was read last: as a rule nobody asks for more. Where
// somebody does just now, that finds the end by itself.
func (c *Conn) freeRoom() {
	if c.reading.TryLock() {
		c.in.room.Free()
		c.reading.Unlock()
	}
}

// Close writes what is queued, if the server still reads, and ends the program with all that it started.
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
