package endings

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// cell is what became of the calls of one kind of clients at one event.
type cell struct {
	clients, goOn, calls int
	inFlight             int // failed, and had begun before the event
	away                 int // found nobody who listens
	refused              int // in the last third of a drain, with the reason
	lost                 int // any other failure
	why                  string
}

// span is when an event struck, and when the host could be reached again.
type span struct{ struck, back time.Time }

// strikes is how long a signal or the end of a proxy may take to reach what it ends.
const strikes = 250 * time.Millisecond

// of sorts a call.
func (c *cell) of(at span, one call) {
	c.calls++
	if one.err == nil {
		return
	}
	text := one.err.Error()
	late := one.ended.Sub(at.struck) >= drainTime()*2/3
	switch {
	case late && strings.Contains(text, "Service Unavailable"), late && strings.Contains(text, "the host is stopping; no server received"):
		c.refused++
	case strings.Contains(text, "connection refused") && one.ended.After(at.struck):
		c.away++
	case one.begun.Before(at.struck.Add(strikes)) && one.ended.After(at.struck):
		c.inFlight++
		c.why = text
	default:
		c.lost++
		c.why = fmt.Sprintf("%v after the event: %s", one.begun.Sub(at.struck).Round(time.Millisecond), text)
	}
}

// short is a cell of the table.
func (c *cell) short() string {
	if c.goOn < c.clients {
		return fmt.Sprintf("%d of %d go on", c.goOn, c.clients)
	}
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{c.inFlight, "in flight"}, {c.away, "nobody listened"}, {c.refused, "refused"}, {c.lost, "lost"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// wrong is what is wrong with a cell; empty is nothing.
func (c *cell) wrong(e event) string {
	switch {
	case c.goOn < c.clients:
		return fmt.Sprintf("%d of %d clients do not go on: %s", c.clients-c.goOn, c.clients, c.why)
	case c.lost > 0:
		return fmt.Sprintf("%d calls were lost: %s", c.lost, c.why)
	case c.inFlight > 0 && !e.inFlight:
		return fmt.Sprintf("%d calls in flight were cut: %s", c.inFlight, c.why)
	case c.away > 0 && !e.away:
		return fmt.Sprintf("%d calls found nobody who listens", c.away)
	case c.refused > 0 && !e.refuses:
		return fmt.Sprintf("%d calls were refused", c.refused)
	}
	return ""
}

// recovery bounds the time until a client has an answer again.
const recovery = 10 * time.Second

// try has clients of all kinds call through an event.
func try(t *testing.T, e event, many int) []*cell {
	t.Helper()
	s := open(t)
	if strings.HasPrefix(e.name, "proxy") {
		s.relay = newRelay(t, s.host.MCP)
	}
	clients := make([][]*client, len(kinds))
	for k := range kinds {
		for i := range many {
			clients[k] = append(clients[k], start(t, kinds[k], s.url(), i))
		}
	}
	time.Sleep(time.Second)
	at := span{struck: time.Now()}
	e.does(s)
	at.back = time.Now()
	for deadline := at.back.Add(recovery); time.Now().Before(deadline) && !all(clients, at.back); {
		time.Sleep(50 * time.Millisecond)
	}
	cells := make([]*cell, len(kinds))
	for k := range kinds {
		c := &cell{clients: many}
		for _, one := range clients[k] {
			if one.since(at.back) {
				c.goOn++
			}
			for _, done := range one.end() {
				c.of(at, done)
			}
		}
		cells[k] = c
	}
	return cells
}

// all reports whether every client has had an answer since.
func all(clients [][]*client, at time.Time) bool {
	for k, kind := range clients {
		for _, c := range kind {
			if known[kinds[k].name] == "" && !c.since(at) {
				return false
			}
		}
	}
	return true
}

// known are the kinds of clients that do not go on, and why.
var known = map[string]string{
	"HTTP+SSE": "this SDK's client never opens its stream again, whatever the host does",
}

// Every client goes on by itself, and loses no more than the event itself takes.
func TestClientsGoOn(t *testing.T) {
	many := either(20, 2)
	var page strings.Builder
	fmt.Fprintf(&page, pageHead, many, drainTime())
	page.WriteString("| clients |")
	for _, e := range events {
		page.WriteString(" " + e.name + " |")
	}
	page.WriteString("\n|---|" + strings.Repeat("---|", len(events)) + "\n")
	rows := make([]string, len(kinds))
	for _, e := range events {
		t.Run(e.name, func(t *testing.T) {
			for k, c := range try(t, e, many) {
				rows[k] += " " + c.short() + " |"
				why := c.wrong(e)
				if missing := known[kinds[k].name]; missing != "" {
					t.Logf("%s: %s (known: %s)", kinds[k].name, why, missing)
					continue
				}
				if why != "" {
					t.Errorf("%s: %s", kinds[k].name, why)
				}
				t.Logf("%s: %d calls, failed: %s", kinds[k].name, c.calls, c.short())
			}
		})
	}
	for k, row := range rows {
		fmt.Fprintf(&page, "| %s |%s\n", kinds[k].name, row)
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

Clients of the official Go SDK, %d of each kind, call one tool after the other in one session, every
other call taking 100 ms, while something happens to the host or on the way to it. None of them is
touched. A cell says how many calls failed, and how:

- **in flight**: the call had begun before the event.
- **nobody listened**: the connection was refused while there was no host, or no proxy.
- **refused**: the host said that it is stopping, with ` + "`Retry-After`" + ` where the transport has it. That
  happens in the last third of a drain (` + "`limits.drain`" + `, here %s) only, and nothing was sent to a server.
- **lost**: anything else. There must be none.

The HTTP+SSE client of this SDK never opens its stream again, whatever the host does, so it ends with
its stream. The host lets clients come back that do: ` + "`transport/streamable`" + ` tests it.

`
