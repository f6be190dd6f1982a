package session

import (
	"sync"

	"mcpd/actors/request"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// Calls are the requests of one client that are on their way to servers. They are the session's and
// not its actor's, so that the next actor can cancel what the one before has sent. The zero Calls is
// empty and ready.
type Calls struct {
	all request.List

	mu sync.Mutex // guards returns
	// returns are the requests by which the client came back to a call that waited for it, which need
	// not be among all.
	returns map[transport.Sink]uint64
}

// Add notes a call that is being submitted.
func (c *Calls) Add(x *request.Exchange) { c.all.Add(x) }

// Has reports whether a call is on its way.
func (c *Calls) Has(exchange uint64) bool { return c.get(exchange) != nil }

func (c *Calls) get(exchange uint64) *request.Exchange {
	return c.all.Find(func(x *request.Exchange) bool { return x.ID == exchange })
}

// Find lists the calls with that id, as the client wrote it, that are not being cancelled already.
func (c *Calls) Find(id string) (exchanges []uint64) {
	for _, x := range c.all.Such(func(x *request.Exchange) bool {
		return x.Downstream.Raw() == id && !x.Cancelled()
	}) {
		exchanges = append(exchanges, x.ID)
	}
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
	return c.all.Find(func(x *request.Exchange) bool {
		r, ok := x.Sink.(interface{ Held() bool })
		return ok && r.Held()
	}) != nil
}

// Busy reports whether the client waits for an outcome, or is waited for during a call.
func (c *Calls) Busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all.Len()+len(c.returns) > 0
}

// Logged reports whether a call to a server is on its way that wants log lines.
func (c *Calls) Logged(server string) bool {
	return c.all.Find(func(x *request.Exchange) bool {
		return x.Server == server && x.Level != ""
	}) != nil
}

// Through reports whether a call is on its way over a connection.
func (c *Calls) Through(connection otp.Ref) bool {
	return c.all.Find(func(x *request.Exchange) bool { return x.Upstream == connection }) != nil
}

// Of finds the call whose outcome goes to out.
func (c *Calls) Of(out transport.Sink) (exchange uint64, ok bool) {
	c.mu.Lock()
	exchange, ok = c.returns[out]
	c.mu.Unlock()
	if ok {
		return exchange, true
	}
	x := c.all.Find(func(x *request.Exchange) bool {
		r, ok := x.Sink.(carrier)
		return x.Sink == out || ok && r.Carries(out)
	})
	if x == nil {
		return 0, false
	}
	return x.ID, true
}

// Cancel notes that a call is being cancelled and reports whether this is the first time.
func (c *Calls) Cancel(exchange uint64) bool {
	x := c.get(exchange)
	return x != nil && x.Cancel()
}

// Len is how many calls there are.
func (c *Calls) Len() int { return c.all.Len() }
