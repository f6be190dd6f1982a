package session

import (
	"slices"
	"sync"

	"mcpd/actors/request"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// Calls are the requests of one client that are on their way to servers. They are the session's and not its actor's, so that the next
// actor can cancel what the one before has sent. The zero Calls is empty and ready.
type Calls struct {
	mu  sync.Mutex // guards what follows; a session that hangs is abandoned while it runs, and has a successor
	all map[uint64]call
	// crowded says that all was once large, and is not worth keeping when it is empty.
	crowded bool
	// returns are the requests by which the client came back to a call that waited for it, which need not be among all.
	returns map[transport.Sink]uint64
}

// fewCalls is how many calls at once an idle session keeps the room for: as many as a map takes in one piece. One that calls one thing after the other
// would make a map for each.
const fewCalls = 8

type call struct {
	x         *request.Exchange
	cancelled bool
}

// Add notes a call that is being submitted.
func (c *Calls) Add(x *request.Exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[uint64]call{}
	}
	c.all[x.ID] = call{x: x}
	c.crowded = c.crowded || len(c.all) > fewCalls
}

func (c *Calls) remove(exchange uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, exchange)
	if len(c.all) == 0 && c.crowded {
		c.all, c.crowded = nil, false
	}
}

// Has reports whether a call is on its way.
func (c *Calls) Has(exchange uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, has := c.all[exchange]
	return has
}

// Find lists the calls with that id, as the client wrote it, that are not being cancelled already.
func (c *Calls) Find(id string) (exchanges []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, call := range c.all {
		if call.x.Downstream.Raw() == id && !call.cancelled {
			exchanges = append(exchanges, key)
		}
	}
	slices.Sort(exchanges)
	return exchanges
}

// carrier is a sink that passes on to another.
type carrier interface{ Carries(out transport.Sink) bool }

// Return notes that the client came back to a call with the request whose outcome goes to out.
func (c *Calls) Return(out transport.Sink, exchange uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.returns == nil {
		c.returns = map[transport.Sink]uint64{}
	}
	c.returns[out] = exchange
}

// Answered forgets such a request: it has its outcome.
func (c *Calls) Answered(out transport.Sink) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.returns, out)
	if len(c.returns) == 0 {
		c.returns = nil
	}
}

// held reports whether a call waits for its client to come back with answers.
func (c *Calls) held() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.all {
		if r, ok := call.x.Sink.(interface{ Held() bool }); ok && r.Held() {
			return true
		}
	}
	return false
}

// Busy reports whether the client waits for an outcome, or is waited for during a call.
func (c *Calls) Busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.all)+len(c.returns) > 0
}

// Logged reports whether a call to a server is on its way that wants log lines.
func (c *Calls) Logged(server string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.all {
		if call.x.Server == server && call.x.Level != "" {
			return true
		}
	}
	return false
}

// Through reports whether a call is on its way over a connection.
func (c *Calls) Through(connection otp.Ref) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.all {
		if call.x.Upstream == connection {
			return true
		}
	}
	return false
}

// Of finds the call whose outcome goes to out.
func (c *Calls) Of(out transport.Sink) (exchange uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if exchange, ok = c.returns[out]; ok {
		return exchange, true
	}
	for key, call := range c.all {
		if r, ok := call.x.Sink.(carrier); call.x.Sink == out || ok && r.Carries(out) {
			return key, true
		}
	}
	return 0, false
}

// Cancel notes that a call is being cancelled and reports whether this is the first time. A client may say so as often as it likes.
func (c *Calls) Cancel(exchange uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	call, has := c.all[exchange]
	if !has || call.cancelled {
		return false
	}
	call.cancelled = true
	c.all[exchange] = call
	return true
}

// Len is how many calls there are.
func (c *Calls) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.all)
}
