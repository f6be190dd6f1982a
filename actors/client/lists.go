package client

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/catalog"
	"mcpd/protocol/jsonedit"
	"mcpd/telemetry"
)

// ListGrace is how long a connection waits after the handshake for its server's lists before it
// takes calls. Most lists come within milliseconds, and then calls find the schemas of their tools.
// A list that comes later is announced.
const ListGrace = time.Second

// listsLate says that ListGrace is over.
type listsLate struct{ attempt uint64 }

// refetch says that the pause before a list is fetched again is over.
type refetch struct{ kind catalog.Kind }

// stepLists handles an event of the lists, and performs its effects.
func (c *Connection) stepLists(event func(*listStep)) error {
	s := listStep{listing: &c.listing, now: c.p.Now(), ready: c.state == Ready, facts: c.facts}
	event(&s)
	for _, e := range s.effects {
		switch e.do {
		case askPage:
			c.page(e.kind, e.cursor)
		case pauseList:
			c.p.After(e.wait, refetch{e.kind})
		case cutList:
			c.o.Emit(telemetry.ListCut{
				Where: c.where(), List: e.kind.String(), Reason: string(e.cut.Reason),
				Count: uint32(e.cut.Count), First: telemetry.Clean(e.cut.First, telemetry.MaxValue),
			})
		case leaveOut:
			c.o.Emit(telemetry.ToolsInvalid{
				Where: c.where(), Count: uint32(e.cut.Count),
				First:  telemetry.Clean(e.cut.First, telemetry.MaxValue),
				Reason: telemetry.Clean(string(e.cut.Reason), telemetry.MaxValue),
			})
		case knowList:
			if !s.ready {
				return c.maybeReady()
			}
			c.report()
		case refresh:
			c.resendStale()
		}
	}
	return nil
}

// page asks for one page of a list.
func (c *Connection) page(k catalog.Kind, cursor jsontext.Value) {
	var params jsontext.Value
	if cursor != nil {
		params, _ = jsonedit.Set(nil, cursor, "cursor") // an empty value becomes an object
	}
	paged := func(result jsontext.Value, err error) error {
		return c.stepLists(func(s *listStep) { s.page(k, result, err) })
	}
	if err := c.request(k.Method(), params, c.o.ListTimeout(), paged); err != nil {
		_ = paged(nil, err)
	}
}

// changed fetches a list again that may have changed.
func (c *Connection) changed(k catalog.Kind) {
	_ = c.stepLists(func(s *listStep) { s.changed(k) })
}

// report tells the catalogue which lists are new.
func (c *Connection) report() {
	c.publish(nil, c.listing.announce)
	c.listing.announce = nil
	c.tellTools()
}
