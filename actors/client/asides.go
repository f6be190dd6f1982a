package client

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// asidesAtOnce is how many asides a server is asked at the same time. There may be thousands, of
// all sessions that share a server which is started again: more than may wait for it at once.
const asidesAtOnce = 32

// aside is a request of the host on behalf of sessions that do not wait for it themselves.
type aside struct {
	method string
	params jsontext.Value
	over   func(error)
}

// asidesDue says that there may be room for more of them.
type asidesDue struct{}

// askAside asks the server for something on behalf of sessions that do not wait for it themselves.
// Answered, if any, is told its error.
func (c *Connection) askAside(method, member, value string, answered func(error)) {
	params, _ := splice.Set(nil, splice.Quote(value), member) // an empty value becomes an object
	c.asides++
	c.unasked = append(c.unasked, aside{method, params, func(err error) {
		c.asides--
		if answered != nil {
			answered(err)
		}
	}})
	c.askAsides()
}

// askAsides asks for what is not asked for yet, as far as there is room.
func (c *Connection) askAsides() {
	for len(c.unasked) > 0 && c.askedAside < asidesAtOnce {
		a := c.unasked[0]
		answered := func(_ jsontext.Value, err error) error {
			c.askedAside--
			a.over(err)
			c.askAsides()
			c.grant()
			return nil
		}
		err := c.request(a.method, a.params, c.o.RequestTimeout(), answered)
		if errors.Is(err, transport.ErrSlowConsumer) {
			if !c.crowded {
				c.crowded = true
				c.p.After(roomTime, asidesDue{})
			}
			return
		}
		if c.unasked = c.unasked[1:]; err == nil {
			c.askedAside++
		} else {
			a.over(err)
		}
	}
}

// asidesAgain tries those for which there was no room.
func (c *Connection) asidesAgain() {
	if c.crowded = false; len(c.unasked) > 0 {
		c.askAsides()
		c.grant()
	}
}

// Class lets it be heard however full the mailbox is: there is one at a time.
func (asidesDue) Class() otp.Class { return otp.Owed }
