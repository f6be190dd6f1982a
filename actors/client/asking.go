package client

import "mcpd/supervisor/otp"

// asking tells the first connection which dialog an instance has; nil for none. An instance sends at
// most four for each question: when it is asked, when calls may pass it and when they may not, and
// when it is closed. So its class is owed.
type asking struct {
	ref otp.Ref
	has *dialog
}

func (asking) Class() otp.Class { return otp.Owed }

// tellAsking tells the first connection and the tree of this connection's dialog when it is another
// than before.
func (c *Connection) tellAsking() {
	if len(c.open) == 0 && c.showsAsked == nil {
		return
	}
	d := c.dialog()
	if d.same(c.showsAsked) {
		return
	}
	c.showsAsked = d
	if c.primary != (otp.Ref{}) {
		_ = c.p.Send(c.primary, asking{c.p.Self(), d})
	}
	c.showWaits()
}

// asksNow notes the dialog of an instance. Calls that wait may be able to pass it.
func (c *Connection) asksNow(m asking) {
	if i := c.instance(m.ref); i != nil {
		i.asks = m.has
	}
	if m.has != nil {
		c.remember(m.has.asker)
	}
	c.spread()
}
