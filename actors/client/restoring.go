package client

import (
	"time"

	"mcpd/supervisor/otp"
)

// A server that has just been started is asked for the log level and the subscriptions that
// clients had of the one before, and for those of whoever has it started. A client of the server
// itself would make its first call when it has the answers: a server may handle requests out of
// turn, so that the log lines and the updates of a call that is written right behind them would
// be lost.

// RestoreWait is how long calls wait for those answers, as a session waits for what it asks of a
// server that runs.
const RestoreWait = 2 * time.Second

// restoreDue says that calls may have waited for so long.
type restoreDue struct{}

// holdCalls has calls wait until the server has answered what it was asked beside them.
func (c *Connection) holdCalls() {
	if c.asides > 0 && !c.restoring() {
		c.restoreBy = c.p.Now().Add(RestoreWait)
		c.p.After(RestoreWait, restoreDue{})
	}
}

// restoring reports whether calls wait although the server is ready.
func (c *Connection) restoring() bool { return !c.restoreBy.IsZero() }

// restoreOver lets the calls go when they have waited for long enough.
func (c *Connection) restoreOver() {
	if !c.p.Now().Before(c.restoreBy) {
		c.restored()
	}
}

// restored lets the calls go.
func (c *Connection) restored() {
	if c.restoring() {
		c.restoreBy = time.Time{}
		c.takeTurns()
	}
}

// Class lets it be heard however full the mailbox is: there is one for each time that calls are
// held.
func (restoreDue) Class() otp.Class { return otp.Owed }
