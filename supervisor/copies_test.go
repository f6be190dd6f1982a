package supervisor

import (
	"fmt"
	"net"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

const (
	// copied is the size of the large messages in bytes, and copies how many of them there are at
	// once.
	copied = 3 << 20
	copies = 4
	// besideCall bounds the memory of a call besides its message: its connections and their buffers.
	besideCall = 256 << 10
)

// All memory of large calls counts for their tenant, whichever side waits for the other, and
// whatever the host rewrites on the way.
func TestLargeCallsCountAllThatTheyKeep(t *testing.T) {
	n := copying(t)
	ways(func(path, prefix, server string, modern bool) {
		for _, tool := range []string{"hold", "deaf", "asks"} {
			n := n
			if tool == "asks" {
				if server == "old" || modern {
					continue // only the host of a legacy client holds a call to a modern server that asks
				}
				n = copying(t)
			}
			t.Run(fmt.Sprintf("%s %s%s modern=%t", path, prefix, tool, modern), func(t *testing.T) {
				here := n.at(t)
				c := here.client(path, modern)
				c.answered(prefix+"echo", false)
				before, counted := n.live()
				f := n.far[server]
				f.releases()
				for range copies {
					defer c.call(prefix+tool, true).Close()
				}
				if tool != "asks" { // these calls wait for their user
					defer here.rests(counted)
				}
				defer f.releases()
				for end := time.Now().Add(20 * time.Second); !f.has(copies); time.Sleep(10 * time.Millisecond) {
					if time.Now().After(end) {
						t.Fatal("the calls do not come to the server")
					}
				}
				here.counts(before, counted, copies)
			})
		}
	})
}

// Large answers that nobody reads count too.
func TestLargeAnswersCountAllThatTheyKeep(t *testing.T) {
	n := copying(t)
	ways(func(path, prefix, server string, modern bool) {
		t.Run(fmt.Sprintf("%s %s modern=%t", path, prefix, modern), func(t *testing.T) {
			here := n.at(t)
			c := here.client(path, modern)
			c.answered(prefix+"big", false)
			before, counted := n.live()
			const unread = 8
			for range unread {
				conn := c.call(prefix+"big", false)
				_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
				defer conn.Close()
			}
			here.counts(before, counted, unread)
		})
	})
}

// A large call is in memory once, and once more for each rewrite of its content: names of the
// aggregate, and fields for the way to its server.
func TestLargeCallsAreSeldomCopied(t *testing.T) {
	if mcptest.RaceEnabled {
		t.Skip("pools keep less with the race detector")
	}
	n := copying(t)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would empty the pools too
	ways(func(path, prefix, server string, modern bool) {
		t.Run(fmt.Sprintf("%s %s modern=%t", path, prefix, modern), func(t *testing.T) {
			here := n.at(t)
			c := here.client(path, modern)
			c.answered(prefix+"echo", true)
			want := 2.0 // as it is read, and as it is written with the host's progress token
			if prefix != "" {
				want++
			}
			runtime.GC()
			for range 2 { // fill the pools
				c.answered(prefix+"echo", true)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range copies {
				c.answered(prefix+"echo", true)
			}
			runtime.ReadMemStats(&after)
			got := float64(after.TotalAlloc-before.TotalAlloc) / copies / copied
			// The tolerance is for a processor that lacks what another one has pooled.
			if t.Logf("%.2f of its size", got); got > want+0.75 {
				t.Errorf("a call makes %.2f times its size, want %.0f", got, want)
			}
		})
	})
}
