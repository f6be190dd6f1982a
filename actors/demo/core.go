package demo

import (
	"io"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// core is the server without its process: messages and times in, effects out. It serves one
// connection, which may carry requests of both eras.
type core struct {
	info    protocol.Implementation
	random  io.Reader // source of task ids
	policy  protocol.Negotiation
	pending int // most calls in flight
	seals   sealer
	now     time.Time // time of the current event

	session session
	touched int             // how often the watched resource was changed
	changed map[string]bool // for "tools" and "prompts": whether the list contains its changing row

	served    uint64 // calls so far
	questions uint64 // requests of the server so far
	calls     map[uint64]*call
	byID      map[jsonrpc.ID]*call // calls that the client waits for, by its id
	asked     map[jsonrpc.ID]*call // calls that wait for the client, by the id of the server's request
	tasks     []*task              // oldest first
	listens   []listen             // oldest first
}

// session is the terms of initialize, for later legacy requests. Modern requests do not use it.
type session struct {
	version protocol.Version // 0 before initialize
	client  protocol.ClientCapabilities
	level   string
	watched map[string]bool // resources that the client subscribed to
}

// newCore makes a server that reports build as its version. It reads its key, and later the ids of
// tasks, from random.
func newCore(build string, random io.Reader) (*core, error) {
	info, err := protocol.ParseImplementation(encode(object{
		"name": "demo", "title": "Demo", "version": build,
	}))
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
		// before setLevel the server chooses the level
		session: session{level: "info", watched: map[string]bool{}},
		changed: map[string]bool{},
		calls:   map[uint64]*call{},
		byID:    map[jsonrpc.ID]*call{},
		asked:   map[jsonrpc.ID]*call{},
	}, nil
}

// Step handles one message of the client.
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
	return effects // the transport passes no other kind
}

// Wake resumes the call that waited. It ignores a wait that the call has already passed.
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
	effects := c.giveUp(k, "no answer within "+protocol.InputTimeout.String())
	reason := "the client did not answer within " + protocol.InputTimeout.String()
	return append(effects, c.failCall(k, reason, protocol.Timeout(protocol.InputTimeout))...)
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

// notified handles a notification. Only the cancellation has an effect. A server that keeps no
// roots can ignore all others.
func (c *core) notified(m jsonrpc.Message) []effect {
	if m.Method != "notifications/cancelled" {
		return nil
	}
	raw, _ := jsonedit.Get(m.Params, "requestId")
	id, err := jsonrpc.ParseID(raw)
	if err != nil {
		// malformed: ignored (2025-11-25 §basic/utilities/cancellation "Error Handling")
		return nil
	}
	c.unlisten(id)
	c.removeWaiter(id)
	k := c.byID[id]
	if k == nil {
		return nil
	}
	effects := c.giveUp(k, "the call was cancelled")
	return append(effects, c.forget(k)...)
}

// End tells the listening clients that the server stops.
func (c *core) End() []effect { return c.endListens() }
