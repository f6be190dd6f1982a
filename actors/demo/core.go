package demo

import (
	"io"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
)

// core is the server without its process: messages and moments in, effects out. It serves one connection, on which requests of both eras
// may come.
type core struct {
	info    protocol.Implementation
	random  io.Reader // of task ids
	policy  protocol.Negotiation
	pending int // most calls in flight
	seals   sealer
	now     time.Time // of the event under way

	session session
	touched int             // how often the watched resource was changed
	changed map[string]bool // "tools" and "prompts": whether the list has what comes and goes

	served    uint64 // calls so far
	questions uint64 // our requests so far
	calls     map[uint64]*call
	byID      map[jsonrpc.ID]*call // those that the client waits for, by its id
	asked     map[jsonrpc.ID]*call // those that wait for the client, by the id of our request
	tasks     []*task              // oldest first
	listens   []listen             // oldest first
}

// session is what initialize agreed on and the legacy requests after it build upon. Modern requests do not see it.
type session struct {
	version protocol.Version // 0 before initialize
	client  protocol.ClientCapabilities
	level   string
	watched map[string]bool // resources that the client subscribed to
}

// newCore makes a server that calls itself version build. It takes its key, and later the ids of tasks, from random.
func newCore(build string, random io.Reader) (*core, error) {
	info, err := protocol.ParseImplementation(encode(object{"name": "demo", "title": "Demo", "version": build}))
	if err != nil {
		return nil, err
	}
	seals, err := newSealer(random)
	if err != nil {
		return nil, err
	}
	return &core{
		info:    info,
		random:  random,
		pending: protocol.MaxPending,
		seals:   seals,
		session: session{level: "info", watched: map[string]bool{}}, // until setLevel comes the server decides
		changed: map[string]bool{},
		calls:   map[uint64]*call{},
		byID:    map[jsonrpc.ID]*call{},
		asked:   map[jsonrpc.ID]*call{},
	}, nil
}

// Step takes one message of the client.
func (c *core) Step(now time.Time, m jsonrpc.Message) []effect {
	c.now = now
	effects := c.expire()
	switch m.Kind() {
	case jsonrpc.KindRequest:
		return append(effects, c.request(m)...)
	case jsonrpc.KindNotification:
		return append(effects, c.notified(m)...)
	case jsonrpc.KindResult, jsonrpc.KindFailure:
		return append(effects, c.reply(m)...)
	}
	return effects // the transport lets nothing else through
}

// Wake goes on with the call that waited. A wait that the call is past is ignored.
func (c *core) Wake(now time.Time, w wake) []effect {
	c.now = now
	k := c.calls[w.call]
	if k == nil || !k.waiting || k.stage != w.stage {
		return nil
	}
	k.waiting = false
	if len(k.open) == 0 {
		k.stage++
		return c.run(k)
	}
	effects := c.giveUp(k, "no answer within "+protocol.ParkTimeout.String())
	reason := "the client did not answer within " + protocol.ParkTimeout.String()
	return append(effects, c.excuse(k, reason, protocol.Timeout(protocol.ParkTimeout))...)
}

func (c *core) request(m jsonrpc.Message) []effect {
	r, err := c.admit(m)
	if err == nil {
		var effects []effect
		if effects, err = methods[r.method].handle(c, r); err == nil {
			return effects
		}
	}
	return []effect{r.failure(err)}
}

// notified takes a notification. Only one changes anything; the rest, known or not, is nothing to a server that keeps no roots.
func (c *core) notified(m jsonrpc.Message) []effect {
	if m.Method != "notifications/cancelled" {
		return nil
	}
	raw, _ := splice.Get(m.Params, "requestId")
	id, err := jsonrpc.ParseID(raw)
	if err != nil {
		return nil // malformed: ignored (2025-11-25 §basic/utilities/cancellation "Error Handling")
	}
	c.unlisten(id)
	c.unwait(id)
	k := c.byID[id]
	if k == nil {
		return nil
	}
	effects := c.giveUp(k, "the call was cancelled")
	return append(effects, c.forget(k)...)
}

// End says good-bye to those who listen, when the server is to stop.
func (c *core) End() []effect { return c.endListens() }
