package client

import (
	"time"

	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// MaxQueue bounds the calls that wait for a connection to become ready. It is the request manager's own bound, so that the queue
// refuses nothing the manager has admitted.
const MaxQueue = protocol.MaxPending

// carry is what a connection leaves to its next incarnation: the calls nobody has answered, what clients had asked of the server,
// and who uses it. It is the heir of the connection's row, and changed in place.
type carry struct {
	o Options
	// queue holds calls of which no byte was written: they are safe to send to the next incarnation.
	queue []*request.Exchange
	// written holds calls whose bytes the server may have acted on: they die with the incarnation that wrote them.
	written map[uint64]*request.Exchange
	// sessions use this connection, by row.
	sessions map[string]otp.Ref
	// uris lists the subscribed resources and the sessions that want each.
	uris map[string]map[string]bool
	// levels is the log level each session wants.
	levels map[string]string
	// cause is how the last incarnation ended.
	cause  error
	lostAt time.Time
}

// Restore is what a connection had asked its server for on behalf of clients: the catalogue keeps it while there is no connection.
type Restore struct {
	URIs   map[string]map[string]bool
	Levels map[string]string
}

func newCarry(o Options) *carry {
	c := &carry{
		o:        o,
		written:  map[uint64]*request.Exchange{},
		sessions: map[string]otp.Ref{},
		uris:     o.Restore.URIs,
		levels:   o.Restore.Levels,
	}
	if c.uris == nil {
		c.uris = map[string]map[string]bool{}
	}
	if c.levels == nil {
		c.levels = map[string]string{}
	}
	return c
}

// lost answers every call that was written to a connection that is no more. Each gets one answer: it may have been executed.
func (c *carry) lost(requests otp.Ref, server string) {
	for id, x := range c.written {
		complete(requests, x, nil, protocol.UpstreamLost(server, true, c.cause))
		delete(c.written, id)
	}
}

// Abandon answers everything: there will be no next incarnation.
func (c *carry) Abandon(reason error) {
	if c.cause == nil {
		c.cause = reason
	}
	c.lost(c.o.Requests, c.o.Server)
	for _, x := range c.queue {
		complete(c.o.Requests, x, nil, protocol.UpstreamLost(c.o.Server, false, c.cause))
	}
	c.queue = nil
}
