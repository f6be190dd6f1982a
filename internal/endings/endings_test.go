package endings

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// cell holds the results of the calls of one kind of client at one event.
type cell struct {
	clients, continuing, calls int
	inFlight                   int // failed, and had begun before the event
	noListener                 int // connection refused
	refused                    int // refused with the reason in the last third of a drain
	// The host ended the idle connection at the moment the request was sent, and answered 408.
	crossed int
	lost    int // failed in any other way
	reason  string
}

// eventTime is the time of an event and the time at which the host was reachable again.
type eventTime struct{ struck, back time.Time }

// effectTime is the longest time until a signal, or the end of a proxy, takes effect.
const effectTime = 250 * time.Millisecond

// Error texts of the SDKs for a host that is stopping, for a request that crossed with the end of
// its connection, and for an address without a listener.
var (
	refused = regexp.MustCompile(
		`Service Unavailable|HTTP 503|the host is stopping; no server received`,
	)
	crossed = regexp.MustCompile(`Request Timeout|HTTP 408`)
	nobody  = regexp.MustCompile(`connection refused|ECONNREFUSED`)
)

// add classifies a call. Executed is the number of times that the call reached the server.
func (c *cell) add(at eventTime, one call, executed int) {
	c.calls++
	text := ""
	if one.err != nil {
		text = one.err.Error()
	}
	late := one.ended.Sub(at.struck) >= drainTime()*2/3
	switch {
	case executed > 1, executed == 0 && one.err == nil:
		c.lost++
		c.reason = fmt.Sprintf("a call has reached the server %d times; its error: %s", executed, text)
	case one.err == nil:
	case crossed.MatchString(text) && one.ended.After(at.struck) && executed == 0:
		c.crossed++
	case late && refused.MatchString(text) && executed == 0:
		c.refused++
	case nobody.MatchString(text) && one.ended.After(at.struck) && executed == 0:
		c.noListener++
	case one.begun.Before(at.struck.Add(effectTime)) && one.ended.After(at.struck):
		if c.inFlight++; c.lost == 0 {
			c.reason = text
		}
	default:
		c.lost++
		c.reason = fmt.Sprintf("%v after the event: %s",
			one.begun.Sub(at.struck).Round(time.Millisecond), text)
	}
}

// short renders the cell for the table.
func (c *cell) short() string {
	if c.continuing < c.clients {
		return fmt.Sprintf("%d of %d go on", c.continuing, c.clients)
	}
	var parts []string
	for _, p := range []struct {
		n     int
		label string
	}{{c.inFlight, "in flight"}, {c.noListener, "nobody listened"}, {c.refused, "refused"},
		{c.crossed, "crossed"}, {c.lost, "lost"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.label))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// wrong describes the error of a cell, or returns an empty string if there is none.
func (c *cell) wrong(e event) string {
	switch {
	case c.continuing < c.clients:
		return fmt.Sprintf("%d of %d clients do not go on: %s", c.clients-c.continuing,
			c.clients, c.reason)
	case c.lost > 0:
		return fmt.Sprintf("%d calls were lost: %s", c.lost, c.reason)
	case c.inFlight > 0 && !e.inFlight:
		return fmt.Sprintf("%d calls in flight were cut: %s", c.inFlight, c.reason)
	case c.noListener > 0 && !e.away:
		return fmt.Sprintf("%d calls found nobody who listens", c.noListener)
	case c.refused > 0 && !e.refuses:
		return fmt.Sprintf("%d calls were refused", c.refused)
	case c.crossed > 0 && !e.drains, c.crossed > c.mayCross():
		return fmt.Sprintf("%d calls crossed with the end of their connection", c.crossed)
	}
	return ""
}

// mayCross returns how many calls may cross with the end of their connection. A call crosses only
// if its client has been idle for half a second and sends at that very moment, so most clients
// never have one.
func (c *cell) mayCross() int { return 1 + c.clients/2 }

// recovery limits the time until a client has an answer again. The client may have to wait until
// its call times out.
const recovery = 25 * time.Second

// try lets clients of all kinds make calls during an event, and returns one cell for each kind.
func try(t *testing.T, e event, many int) []*cell {
	t.Helper()
	s := open(t, e)
	opener := newOpener(t, s)
	clients := make([][]*client, len(kinds))
	for k := range kinds {
		for i := range many {
			clients[k] = append(clients[k], start(t, opener, kinds[k], i))
		}
	}
	time.Sleep(time.Second)
	at := eventTime{struck: time.Now()}
	e.does(s)
	at.back = time.Now()
	if e.secure { // one more client of each kind uses the new certificate
		for k := range kinds {
			clients[k] = append(clients[k], start(t, opener, kinds[k], many))
		}
	}
	for deadline := at.back.Add(recovery); time.Now().Before(deadline) && !e.all(clients, at.back); {
		time.Sleep(50 * time.Millisecond)
	}
	ended := map[*client]chan []call{}
	for _, c := range slices.Concat(clients...) {
		last := make(chan []call, 1)
		ended[c] = last
		// The goroutine ends with the client, which has its own limits.
		go func() { last <- c.end() }()
	}
	cells, done := make([]*cell, len(kinds)), make(map[*client][]call)
	for one, last := range ended {
		done[one] = <-last
	}
	executed := s.calls.executed(t)
	for k := range kinds {
		c := &cell{clients: len(clients[k])}
		for _, one := range clients[k] {
			if one.since(at.back) {
				c.continuing++
			}
			for _, call := range done[one] {
				c.add(at, call, executed[call.text])
			}
		}
		cells[k] = c
	}
	return cells
}

// all reports whether every client that can continue has had an answer since the given time.
func (e event) all(clients [][]*client, at time.Time) bool {
	for k, kind := range clients {
		for _, c := range kind {
			if (kinds[k].cannotContinue == "" || !e.cuts) && !c.since(at) {
				return false
			}
		}
	}
	return true
}

// Every client continues by itself, and no call fails except those that the event itself ends.
func TestClientsGoOn(t *testing.T) {
	many := fullOrShort(20, 2)
	var page strings.Builder
	fmt.Fprintf(&page, pageHead, many, callDuration(), drainTime())
	page.WriteString("| clients |")
	for _, e := range events {
		page.WriteString(" " + e.name + " |")
	}
	page.WriteString("\n|---|" + strings.Repeat("---|", len(events)) + "\n")
	rows := make([]string, len(kinds))
	for _, e := range events {
		t.Run(e.name, func(t *testing.T) {
			// In the full form each event has the machine to itself, and the page is written after the last.
			if !*full {
				t.Parallel()
			}
			for k, c := range try(t, e, many) {
				if *full {
					rows[k] += " " + c.short() + " |"
				}
				reason := c.wrong(e)
				if stays := kinds[k].cannotContinue; stays != "" && e.cuts {
					t.Logf("%s: %s (known: %s)", kinds[k], reason, stays)
					continue
				}
				if reason != "" {
					t.Errorf("%s: %s", kinds[k], reason)
				}
				t.Logf("%s: %d calls, failed: %s", kinds[k], c.calls, c.short())
			}
		})
	}
	for k, row := range rows {
		fmt.Fprintf(&page, "| %s |%s\n", kinds[k], row)
	}
	if *update {
		if !*full {
			t.Fatal("-update needs -full")
		}
		if t.Failed() {
			t.Fatal("the page is not written: a run that failed shows nothing")
		}
		if err := os.WriteFile("../../docs/endings.md", []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const pageHead = `<!-- Written by make endings from what its test saw. Do not edit. -->

# Clients and the end of their host

Clients of the official SDKs, %d of each kind, call one tool after the other in one session, every
other call taking %v, while something happens to the host or on the way to it. None of them is
touched. A cell says how many calls failed, and how:

- **in flight**: the call had begun before the event.
- **nobody listened**: the connection was refused while there was no host, or no proxy.
- **refused**: the host said that it is stopping, with ` + "`Retry-After`" +
	` where the transport has it. That
  happens in the last third of a drain (` + "`limits.drain`" + `, here %s) only.
- **crossed**: sent at the moment in which a host that drains ends a connection that was idle for half
  a second. The answer is 408 with ` + "`Retry-After`" +
	`. [stopping.md](stopping.md) has when connections end.
- **lost**: anything else. There must be none.

The server notes each call that reaches it. Those answered have reached it once, those that were
refused, have crossed or found nobody never, and none has twice.

The HTTP+SSE client of the Go SDK never opens its stream again, whatever the host does, so it ends
with its stream. The clients of the TypeScript SDK do, and go on with their sessions. The next host
answers their calls that were in flight when the host was killed, with an error; a call that had been
in flight for less than 250 ms ends by the client's own time-out, because nothing was written down of
it and HTTP+SSE has no way to ask a client what it waits for
([adr/0019](adr/0019-store-only-stream-events-that-no-connection-took.md)).

The certificate is renewed under clients that are connected over TLS: other files take the place of
those of ` + "`tls.cert`" + ` and ` + "`tls.key`" +
	`, and the old certificate expires. Connections that are open go on,
and one more client of each kind connects with the new certificate.

The clients declare no capabilities. Calls of 2025-11-25 clients that can be asked something would
take turns at the server that all of them share ([adr/0008](adr/0008-serialize-calls-that-may-ask-and-add-instances.md)).

`
