package streamable

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// tellings counts how often a deadline is set on the underlying connection.
type tellings struct {
	net.Conn
	told atomic.Int32
}

func (c *tellings) SetReadDeadline(t time.Time) error {
	c.told.Add(1)
	return c.Conn.SetReadDeadline(t)
}

func (c *tellings) SetWriteDeadline(t time.Time) error {
	c.told.Add(1)
	return c.Conn.SetWriteDeadline(t)
}

// piped runs a test with a connection whose deadlines are deferred, in a synctest bubble.
func piped(t *testing.T, test func(t *testing.T, c *deadlines, told *atomic.Int32, peer net.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		client, peer := net.Pipe()
		under := &tellings{Conn: client}
		test(t, newDeadlines(under), &under.told, peer)
		client.Close()
		peer.Close()
	})
}

func after(d time.Duration) time.Time { return time.Now().Add(d) }

// A Read ends at its deadline, whenever that was set: before the Read or during it, to an earlier
// or a later time.
func TestReadEndsAtItsDeadline(t *testing.T) {
	for name, test := range map[string]struct {
		before, during time.Duration // from the time of the call; 0 means no deadline
		want           time.Duration
	}{
		"before": {before: 5 * time.Second, during: 0, want: 5 * time.Second},
		"passed": {before: -time.Hour, during: 0, want: 0},
		"during": {before: 0, during: 5 * time.Second, want: 6 * time.Second},
		"sooner": {before: time.Hour, during: time.Second, want: 2 * time.Second},
		"later": {before: 3 * time.Second, during: time.Minute,
			want: time.Minute + time.Second},
		"at once, as when": {before: 0, during: -time.Hour, want: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			piped(t, func(t *testing.T, c *deadlines, _ *atomic.Int32, _ net.Conn) {
				began := time.Now()
				if test.before != 0 {
					c.SetReadDeadline(after(test.before))
				}
				if test.during != 0 {
					time.AfterFunc(time.Second, func() { c.SetReadDeadline(after(test.during)) })
				}
				_, err := c.Read(make([]byte, 1))
				if took := time.Since(began); !errors.Is(err, os.ErrDeadlineExceeded) || took != test.want {
					t.Errorf("%v after %v, want a deadline after %v", err, took, test.want)
				}
			})
		})
	}
}

// A deadline that was cleared or has passed does not affect later reads.
func TestDeadlineIsTakenBack(t *testing.T) {
	piped(t, func(t *testing.T, c *deadlines, _ *atomic.Int32, peer net.Conn) {
		for range 2 { // the second time after a deadline that has passed
			c.SetReadDeadline(after(time.Second))
			time.AfterFunc(500*time.Millisecond, func() { c.SetReadDeadline(time.Time{}) })
			time.AfterFunc(time.Hour, func() { peer.Write([]byte("a")) })
			if n, err := c.Read(make([]byte, 2)); n != 1 || err != nil {
				t.Fatalf("got %d, %v after the deadline was taken back", n, err)
			}
			c.SetReadDeadline(after(-time.Hour))
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("got %v, want a deadline", err)
			}
		}
	})
}

// A Write that continues after an outdated deadline writes each byte once.
func TestWriteGoesOnWhereItWas(t *testing.T) {
	piped(t, func(t *testing.T, c *deadlines, _ *atomic.Int32, peer net.Conn) {
		text := []byte("0123456789")
		c.SetWriteDeadline(after(time.Second))
		time.AfterFunc(500*time.Millisecond, func() { c.SetWriteDeadline(after(time.Minute)) })
		var got bytes.Buffer
		read := make(chan struct{})
		go func() {
			defer close(read)
			io.CopyN(&got, peer, 4)
			time.Sleep(10 * time.Second)
			io.CopyN(&got, peer, 6)
		}()
		if n, err := c.Write(text); n != len(text) || err != nil {
			t.Errorf("wrote %d, %v", n, err)
		}
		if <-read; got.String() != string(text) {
			t.Errorf("the peer got %q", got.String())
		}
		began := time.Now()
		if n, err := c.Write(text); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) ||
			time.Since(began) != 50500*time.Millisecond {
			t.Errorf("wrote %d, %v after %v, want the deadline that was set last", n, err, time.Since(began))
		}
	})
}

// net/http and a Handler set several deadlines for each request. The underlying connection is told
// of one only if a call waits: two for reads, and one in ten seconds for writes.
func TestDeadlinesAreToldWhereOneMatters(t *testing.T) {
	piped(t, func(t *testing.T, c *deadlines, told *atomic.Int32, peer net.Conn) {
		c.SetWriteDeadline(after(DefaultStall))
		const requests = 100
		buffer := make([]byte, 8)
		for range requests {
			c.SetReadDeadline(after(DefaultIdleTime))
			go peer.Write(make([]byte, 4))
			if _, err := c.Read(buffer); err != nil {
				t.Fatal(err)
			}
			c.SetReadDeadline(time.Time{})
			c.SetReadDeadline(after(DefaultHeaderTime))
			c.SetReadDeadline(time.Time{})
			c.SetWriteDeadline(time.Time{})
			c.SetReadDeadline(after(DefaultBodyTime))
			c.SetReadDeadline(time.Time{})
			gone := make(chan struct{})
			go func() { // as net/http does to detect a disconnect
				defer close(gone)
				c.Read(buffer[:1])
			}()
			synctest.Wait()
			c.SetWriteDeadline(after(DefaultStall))
			go io.ReadFull(peer, make([]byte, 4))
			if _, err := c.Write(buffer[:4]); err != nil {
				t.Fatal(err)
			}
			c.SetReadDeadline(time.Unix(1, 0))
			<-gone
			c.SetReadDeadline(time.Time{})
		}
		if got := told.Load(); got > 2*requests+2 {
			t.Errorf("%d deadlines told in %d requests", got, requests)
		}
	})
}

// impatient is a connection with a deadline of its own.
type impatient struct{ net.Conn }

func (impatient) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// A Read that fails by a deadline of the underlying connection itself is not repeated.
func TestOwnDeadlineOfAConnectionCounts(t *testing.T) {
	client, peer := net.Pipe()
	defer client.Close()
	defer peer.Close()
	c := newDeadlines(impatient{client})
	if err := c.SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
