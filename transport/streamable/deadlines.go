package streamable

import (
	"errors"
	"math"
	"net"
	"os"
	"sync"
	"time"
)

// deadlines is a connection with exact deadlines that tells the kernel's poller of a deadline only
// when a Read or Write could miss it. net/http and the Handler set a dozen deadlines for each
// request, and most are replaced before anything waits. The type sits below TLS, because a TLS
// connection does not survive a failed Write.
//
// If the connection was told an earlier deadline than the one in force, the earlier one stays. When
// the earlier deadline passes, the Read or Write that fails with it sets the right deadline and
// continues.
type deadlines struct {
	net.Conn
	reads, writes direction
}

func newDeadlines(conn net.Conn) *deadlines {
	return &deadlines{
		Conn: conn, reads: direction{asked: never, told: never},
		writes: direction{asked: never, told: never},
	}
}

// instant is a time since started, measured by the monotonic clock.
type instant int64

// never is later than every other instant.
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

// direction is the read or the write side of a connection.
type direction struct {
	mu     sync.Mutex // guards the rest
	asked  instant    // the deadline in force, as set by the caller
	told   instant    // the deadline that the connection was given
	passed bool       // told has passed: the next call would fail
	busy   int        // calls in progress
	// the earliest deadline of the connection since the first of the busy calls began
	least instant
}

// ask sets a new deadline. It is passed on at once if a call in progress would miss it.
func (d *direction) ask(t time.Time, tell func(time.Time) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = instantOf(t)
	if d.busy > 0 {
		return d.tell(tell)
	}
	return nil
}

// tell passes the deadline on for a call in progress, which could otherwise end too late, or too
// early. The mutex is held.
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
	_ = d.tell(tell) // after an error the call fails too
}

// end processes the error of a call, and reports whether the call is to be repeated. It is repeated
// if it failed with a deadline that the connection was given and that is no longer in force. A
// connection with deadlines of its own still fails by those.
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

// CloseWrite tells the peer that nothing more is sent.
func (c *deadlines) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
