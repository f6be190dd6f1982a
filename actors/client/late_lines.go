package client

import (
	"time"

	"mcpd/actors/request"
	"mcpd/internal/order"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// LineWait is how long the answer to a call that wants log lines waits for those that its server
// writes to another stream. The official TypeScript SDK (1.x) writes them to the standing GET
// stream, which the answer to the POST may overtake; a client of 2026-07-28 hears of them on the
// stream of its request, and not any more after its answer.
const LineWait = 50 * time.Millisecond

// linesDue says that the answer to a call has waited for log lines.
type linesDue struct{ id jsonrpc.ID }

// lateLines are the answers that wait for log lines. The zero value is ready to use.
type lateLines struct {
	apart    bool // the server announces on a stream of its own
	together bool // it writes log lines to the streams of requests
	answers  map[jsonrpc.ID]*request.Complete
}

// awaitsLines keeps the answer to a call back, and reports whether it does.
func (c *Connection) awaitsLines(id jsonrpc.ID, f *flight, a *request.Complete) bool {
	l := &c.lines
	if !l.apart || l.together || !standsAlone(f.x) || f.x.Level == "" ||
		!c.facts.Version.Has(protocol.SetLevel) || !c.facts.Capabilities.Has("logging") {
		return false
	}
	if l.answers == nil {
		l.answers = map[jsonrpc.ID]*request.Complete{}
	}
	l.answers[id] = a
	c.p.After(LineWait, linesDue{id})
	return true
}

// awaiting are the calls whose answers wait for log lines.
func (l *lateLines) awaiting() (calls []*request.Exchange) {
	for _, a := range order.By(l.answers, jsonrpc.ID.Compare) {
		calls = append(calls, a.Exchange)
	}
	return calls
}

// linesOver passes on an answer that has waited.
func (c *Connection) linesOver(id jsonrpc.ID) {
	if a := c.lines.answers[id]; a != nil {
		delete(c.lines.answers, id)
		c.respond(a)
	}
}

// linesEnd passes on all answers that wait: nothing more is heard of the server.
func (c *Connection) linesEnd() {
	for id := range order.By(c.lines.answers, jsonrpc.ID.Compare) {
		c.linesOver(id)
	}
}

// respond passes on the outcome of a call that the server has answered.
func (c *Connection) respond(a *request.Complete) {
	if c.p.Pass(c.o.Requests, a) != nil {
		send(c.o.Requests, a)
	}
}
