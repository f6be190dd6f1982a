package streamable

import (
	"errors"
	"math"
	"net"
	"os"
	"sync"
	"time"
)

// deadlines is a connection whose deadlines are exact, but told to the kernel's poller only when a
// Read or a Write could miss one. net/http and the Handler set a dozen for each request, most of
// which are replaced before anything waits. It is below TLS, whose connection would not survive a
// Write that fails.
//
// A deadline that the connection was told earlier and that is sooner than the one asked for stays:
// should it pass, the Read or Write that fails by it is told the right one and goes on.
type deadlines struct {
	net.Conn
	reads, writes direction
}

func newDeadlines(conn net.Conn) *deadlines {
	return &deadlines{
		Conn: conn, reads: direction{asked: never, told: never}, writes: direction{asked: never, told: never},
	}
}

// instant is a time since started, which the clock of the day does not move.
type instant int64

// never is later than every other.
const never instant = math.MaxInt64

var started = time.Now()

func instantOf(t time.Time) instant {
	if t.IsZero() {
		return never
	}
	return min(instant(t.Sub(started)), never-1)
}

func (i instant) time() time.Time {
	if i == never {
		return time.Time{}
	}
	return started.Add(time.Duration(i))
}

// direction is one of the two of a connection.
type direction struct {
	mu     sync.Mutex // guards the rest
	asked  instant    // the deadline, as everybody outside sees it
	told   instant    // what the connection knows
	passed bool       // told has: whatever comes next would fail by it
	busy   int        // calls under way
	least  instant    // the soonest that the connection knew since the first of them began
}

// ask takes a new deadline. It is told at once if a call is under way that would miss it.
func (d *direction) ask(t time.Time, tell func(time.Time) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = instantOf(t)
	if d.busy > 0 {
		return d.tell(tell)
	}
	return nil
}

// tell is for a call that is under way: without it, it might end late, or too early for certain.
// The mutex is held.
func (d *direction) tell(tell func(time.Time) error) error {
	if !d.passed && d.told <= d.asked {
		return nil
	}
	d.told, d.passed = d.asked, false
	d.least = min(d.least, d.told)
	return tell(d.asked.time())
}

func (d *direction) begin(tell func(time.Time) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy++; d.busy == 1 {
		d.least = d.told
	}
	_ = d.tell(tell) // the call fails too
}

// end takes the error of a call, and reports whether it is to go on: it has failed by a deadline that
// the connection was told, and that is not the one asked for. A connection that has deadlines of its
// own fails by those.
func (d *direction) end(err error) (again bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.busy--
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	now := instantOf(time.Now())
	if d.least > now {
		return false
	}
	d.passed = true
	return d.asked > now
}

// Read implements net.Conn.
func (c *deadlines) Read(p []byte) (int, error) {
	for {
		c.reads.begin(c.Conn.SetReadDeadline)
		n, err := c.Conn.Read(p)
		if again := c.reads.end(err); n > 0 || !again {
			return n, err
		}
	}
}

// Write implements net.Conn.
func (c *deadlines) Write(p []byte) (n int, err error) {
	for {
		c.writes.begin(c.Conn.SetWriteDeadline)
		m, err := c.Conn.Write(p[n:])
		n += m
		if again := c.writes.end(err); !again {
			return n, err
		}
	}
}

// SetReadDeadline implements net.Conn.
func (c *deadlines) SetReadDeadline(t time.Time) error {
	return c.reads.ask(t, c.Conn.SetReadDeadline)
}

// SetWriteDeadline implements net.Conn.
func (c *deadlines) SetWriteDeadline(t time.Time) error {
	return c.writes.ask(t, c.Conn.SetWriteDeadline)
}

// SetDeadline implements net.Conn.
func (c *deadlines) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// CloseWrite sends that nothing follows.
func (c *deadlines) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
