package session

import (
	"sync"

	"mcpd/actors/request"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// Calls are the requests of one client that are on their way to servers. They belong to the session
// and not to its actor, so that the next actor can cancel a call that the previous one sent. The
// zero Calls is empty and ready to use.
type Calls struct {
	all request.List

	mu sync.Mutex // guards returns
	// retries maps the sink of a retry to the exchange that the retry continues. The exchange waited
	// for its client, and need not be in all.
	retries map[transport.Sink]uint64
}

// Add notes a call that is being submitted.
func (c *Calls) Add(x *request.Exchange) { c.all.Add(x) }

// Has reports whether a call is in flight.
func (c *Calls) Has(exchange uint64) bool { return c.get(exchange) != nil }

func (c *Calls) get(exchange uint64) *request.Exchange {
	return c.all.Find(func(x *request.Exchange) bool { return x.ID == exchange })
}

// Find lists the calls with the request id that the client wrote, except those that are being
// cancelled already.
func (c *Calls) Find(id string) (exchanges []uint64) {
	for _, x := range c.all.Filter(func(x *request.Exchange) bool {
		return x.Downstream.Raw() == id && !x.Cancelled()
	}) {
		exchanges = append(exchanges, x.ID)
	}
	return exchanges
}

// carrier is a sink that forwards to another sink.
type carrier interface{ Carries(out transport.Sink) bool }

// AddRetry notes that the client continues a call by a retry, whose outcome goes to out.
func (c *Calls) AddRetry(out transport.Sink, exchange uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retries == nil {
		c.retries = map[transport.Sink]uint64{}
	}
	c.retries[out] = exchange
}

// RemoveRetry forgets the retry whose outcome goes to out, because it has its outcome.
func (c *Calls) RemoveRetry(out transport.Sink) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.retries, out)
	if len(c.retries) == 0 {
		c.retries = nil
	}
}

// held reports whether a call waits for its client to come back with answers.
func (c *Calls) held() bool {
	return c.all.Find(func(x *request.Exchange) bool {
		r, ok := x.Sink.(interface{ Held() bool })
		return ok && r.Held()
	}) != nil
}

// Busy reports whether the client waits for an outcome, or a call waits for the client.
func (c *Calls) Busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all.Len()+len(c.retries) > 0
}

// Logged reports whether a call to the server is in flight that wants log lines.
func (c *Calls) Logged(server string) bool {
	return c.all.Find(func(x *request.Exchange) bool {
		return x.Server == server && x.Level != ""
	}) != nil
}

// Through reports whether a call is in flight over the connection.
func (c *Calls) Through(connection otp.Ref) bool {
	return c.all.Find(func(x *request.Exchange) bool { return x.Upstream == connection }) != nil
}

// Of finds the call whose outcome goes to out.
func (c *Calls) Of(out transport.Sink) (exchange uint64, ok bool) {
	c.mu.Lock()
	exchange, ok = c.retries[out]
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

// Cancel notes that a call is being cancelled. It returns false if it already was, or is unknown.
func (c *Calls) Cancel(exchange uint64) bool {
	x := c.get(exchange)
	return x != nil && x.Cancel()
}

// Len returns the number of calls.
func (c *Calls) Len() int { return c.all.Len() }
