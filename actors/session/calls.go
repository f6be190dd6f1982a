package session

import (
	"sync"

	"mcpd/actors/request"
)

// Calls are the requests of one client that are on their way to servers. They are the session's and not its actor's, so that the next
// actor can cancel what the one before has sent. The zero Calls is empty and ready.
type Calls struct {
	mu  sync.Mutex // guards all; a session that hangs is abandoned while it runs, and has a successor
	all map[uint64]*call
}

type call struct {
	x         *request.Exchange
	cancelled bool
}

// Add notes a call that is being submitted.
func (c *Calls) Add(x *request.Exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[uint64]*call{}
	}
	c.all[x.ID] = &call{x: x}
}

func (c *Calls) remove(exchange uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, exchange)
	if len(c.all) == 0 {
		c.all = nil // an idle session keeps no empty map
	}
}

// Has reports whether a call is on its way.
func (c *Calls) Has(exchange uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[exchange] != nil
}

// Find lists the calls with that id, as the client wrote it.
func (c *Calls) Find(id string) (exchanges []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, call := range c.all {
		if call.x.Downstream.Raw() == id {
			exchanges = append(exchanges, key)
		}
	}
	return exchanges
}

// Cancel notes that a call is being cancelled and reports whether this is the first time. A client may say so as often as it likes.
func (c *Calls) Cancel(exchange uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	call := c.all[exchange]
	if call == nil || call.cancelled {
		return false
	}
	call.cancelled = true
	return true
}

// Len is how many calls there are.
func (c *Calls) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.all)
}
