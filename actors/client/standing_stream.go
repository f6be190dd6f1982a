package client

import (
	"time"

	"mcpd/gateway/catalog"
	"mcpd/internal/sortedmap"
	"mcpd/transport/streamable"
)

// Pauses before clients are told again that announcements of a server may have been missed. A
// server whose stream breaks off all the time makes its clients look twice a minute in the end.
const (
	FirstGap = time.Second
	LastGap  = 30 * time.Second
)

// announcements are what a server declares to announce unasked. Without a standing stream none of
// it arrives.
var announcements = []string{
	"tools.listChanged", "prompts.listChanged", "resources.listChanged", "resources.subscribe",
}

// gapPauseOver says that the pause is over before clients are told what they may have missed.
type gapPauseOver struct{}

// standingStream handles the state of the stream on which a server sends unsolicited notifications.
// If a server has none (2025-11-25 §basic/transports, "Listening for Messages from the Server"),
// nothing is offered that would have to come that way.
func (c *Connection) standingStream(s streamable.StandaloneState) {
	if s.Gap && !c.gap {
		c.gap = true
		c.p.After(c.gaps.next(c.p.Now()), gapPauseOver{})
	}
	if c.lines.apart = s.Open; s.Open {
		return
	}
	c.noAnnouncements = true
	c.facts.Capabilities = c.facts.Capabilities.Without(announcements...)
	if c.state == Ready {
		c.publish(nil, nil)
	}
}

// treatAllAsChanged treats everything as changed that a server may have announced while nobody
// listened.
func (c *Connection) treatAllAsChanged() {
	if !c.gap { // there is a new session, with which everything was asked for anew
		return
	}
	c.gap = false
	c.gaps.record(c.p.Now())
	for _, k := range catalog.Kinds() {
		c.changed(k)
	}
	for uri := range sortedmap.Sorted(c.interest.Resources()) {
		if c.interest.Agreed(uri) {
			c.updated(uri)
		}
	}
}
