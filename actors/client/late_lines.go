package client

import (
	"time"

	"mcpd/actors/request"
	"mcpd/internal/sortedmap"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/telemetry"
)

// LineWait is how long the answer to a call that wants log lines waits for the lines that its
// server writes to another stream. The official TypeScript SDK (1.x) writes them to the standing
// GET stream, which the answer to the POST may overtake. A client of 2026-07-28 gets log lines on
// the stream of its request, and no more after its answer.
const LineWait = 50 * time.Millisecond

// linesDue says that the answer to a call has waited for log lines.
type linesDue struct{ id jsonrpc.ID }

// lateLines are the answers that wait for log lines. The zero value is ready to use.
type lateLines struct {
	apart    bool // the server announces on a stream of its own
	together bool // the server writes log lines to the streams of requests
	answers  map[jsonrpc.ID]late
}

// late is an answer that waits.
type late struct {
	x *request.Exchange
	request.Outcome
}

// awaitsLines holds the answer to a call back for log lines, and reports whether it does.
func (c *Connection) awaitsLines(id jsonrpc.ID, f *inflightRequest, a request.Outcome) bool {
	l := &c.lines
	if !l.apart || l.together || !standsAlone(f.x) || f.x.Level == "" ||
		!c.facts.Version.Has(protocol.SetLevel) || !c.facts.Capabilities.Has("logging") {
		return false
	}
	if l.answers == nil {
		l.answers = map[jsonrpc.ID]late{}
	}
	l.answers[id] = late{f.x, a}
	c.p.After(LineWait, linesDue{id})
	return true
}

// awaiting returns the calls whose answers wait for log lines.
func (l *lateLines) awaiting() (calls []*request.Exchange) {
	for _, a := range sortedmap.SortedBy(l.answers, jsonrpc.ID.Compare) {
		calls = append(calls, a.x)
	}
	return calls
}

// linesOver passes on an answer that has waited.
func (c *Connection) linesOver(id jsonrpc.ID) {
	if a, ok := c.lines.answers[id]; ok {
		delete(c.lines.answers, id)
		c.respond(a.x, a.Outcome)
	}
}

// linesEnd passes on all answers that wait: the server will say nothing more.
func (c *Connection) linesEnd() {
	for id := range sortedmap.SortedBy(c.lines.answers, jsonrpc.ID.Compare) {
		c.linesOver(id)
	}
}

// respond gives a call the answer of its server, and reports whether that is the call's outcome. An
// answer that comes too late is counted.
func (c *Connection) respond(x *request.Exchange, a request.Outcome) (first bool) {
	if first = x.Settle(a); !first {
		c.drops.Reply(c.p, c.o.Emit, telemetry.ReplyDropped{
			Where: c.where(), Method: x.Method, Reason: x.Lateness(), After: a.Waited, Count: 1,
		})
	}
	return first
}
