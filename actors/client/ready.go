package client

import (
	"time"

	"mcpd/actors/client/internal/interest"
	"mcpd/protocol"
)

// learnAll fetches every list that the server has.
func (c *Connection) learnAll() error {
	if c.o.Key.Instance > 0 { // further instances use the lists of the first
		return c.maybeReady()
	}
	_ = c.listed((*listStep).all)
	c.p.After(ListGrace, listsLate{c.attempt})
	return c.maybeReady()
}

// maybeReady opens the connection to calls once every list is known. After ListGrace, listsLate
// does.
func (c *Connection) maybeReady() error {
	if c.state == Starting && !c.listing.busy() {
		c.takeCalls()
	}
	return nil
}

// listsLate opens the connection to calls without the lists that have not arrived.
func (c *Connection) listsLate(m listsLate) {
	if m.attempt == c.attempt && c.state == Starting {
		c.takeCalls()
	}
}

// takeCalls restores what clients had asked for and opens the connection to calls.
func (c *Connection) takeCalls() {
	c.interested(interest.Event{Op: interest.Restore})
	if c.facts.Version.Has(protocol.Listen) {
		c.listenLists()
	}
	c.pingStart()
	c.listing.ever = true
	c.start.Stop()
	c.inUse()
}

// inUse opens the connection to calls.
func (c *Connection) inUse() {
	c.state, c.absence, c.resumed = Ready, absence{}, false
	c.tellStarts()
	c.report()
	c.tellReady()
	c.lostAt, c.cause, c.incident, c.quiet, c.readyAt = time.Time{}, nil, "", false, c.p.Now()
	c.fails = failures{}
	c.interested(interest.Event{Op: interest.Settle})
	c.listenNow()
	c.writeTells()
	c.takeTurns()
	c.maybeLinger()
	c.staysAwake(c.o.Idle)
	c.maybeSleep()
	c.park()
	_ = c.listed((*listStep).resume)
}
