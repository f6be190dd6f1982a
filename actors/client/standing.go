package client

import (
	"time"

	"mcpd/gateway/catalog"
	"mcpd/internal/order"
	"mcpd/transport/streamable"
)

// Pauses before it is told again that announcements of a server may have been missed. One whose stream breaks off all the time makes its
// clients look twice a minute in the end.
const (
	FirstGap = time.Second
	LastGap  = 30 * time.Second
)

// announcements are what a server declares to tell unasked. Without a standing stream nothing of it is heard.
var announcements = []string{"tools.listChanged", "prompts.listChanged", "resources.listChanged", "resources.subscribe"}

// gapTold says that the pause is over before what may have been missed is told.
type gapTold struct{}

// standing hears what became of the stream on which a server announces what nobody has asked for. Of one that has none (2025-11-25
// §basic/transports, "Listening for Messages from the Server") nothing is offered that would have to come that way.
func (c *Connection) standing(s streamable.Standing) {
	if s.Gap && !c.gap {
		c.gap = true
		c.p.After(c.gaps.next(c.p.Now()), gapTold{})
	}
	if c.lines.apart = s.Open; s.Open {
		return
	}
	c.unheard = true
	c.facts.Capabilities = c.facts.Capabilities.Without(announcements...)
	if c.state == Ready {
		c.publish(nil, nil)
	}
}

// missedAny counts everything as changed that a server may have announced while nobody heard.
func (c *Connection) missedAny() {
	if !c.gap { // the session is another, with which everything was asked for anew
		return
	}
	c.gap = false
	c.gaps.did(c.p.Now())
	for _, k := range catalog.Kinds() {
		c.changed(k)
	}
	for uri := range order.Of(c.interest.Resources()) {
		if c.interest.Agreed(uri) {
			c.updated(uri)
		}
	}
}
