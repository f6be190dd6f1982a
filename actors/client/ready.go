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
	_ = c.stepLists((*listStep).all)
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
	c.stepInterest(interest.Event{Op: interest.Restore})
	if c.facts.Version.Has(protocol.Listen) {
		c.listenLists()
	}
	c.pingStart()
	c.listing.ever = true
	c.start.Stop()
	c.openToCalls()
}

// openToCalls opens the connection to calls.
func (c *Connection) openToCalls() {
	c.state, c.absence, c.resumed = Ready, absence{}, false
	c.tellStarts()
	c.report()
	c.tellReady()
	c.lostAt, c.cause, c.incident, c.quiet, c.readyAt = time.Time{}, nil, "", false, c.p.Now()
	c.fails = failures{}
	c.stepInterest(interest.Event{Op: interest.Settle})
	c.listenNow()
	c.writeNotifications()
	c.admitQueued()
	c.maybeLinger()
	c.staysAwake(c.o.Idle)
	c.maybeSleep()
	c.park()
	_ = c.stepLists((*listStep).resume)
}
