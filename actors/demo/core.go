package demo

import (
	"cmp"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
)

// core is the server without its process: messages and moments in, effects out. It serves one connection.
type core struct {
	build   string // the version in serverInfo
	pending int    // most calls in flight

	version protocol.Version            // agreed in initialize; none before
	client  protocol.ClientCapabilities // as the client declared them
	level   int                         // of the log lines that the client wants: an index of levels
	watched map[string]bool             // resources that the client subscribed to
	touched int                         // how often the watched resource was changed

	served    uint64 // calls so far
	questions uint64 // our requests so far
	calls     map[uint64]*call
	byID      map[jsonrpc.ID]*call // the same calls by the client's id
	asked     map[jsonrpc.ID]*call // and those that wait for the client, by the id of our request
}

func newCore(build string, pending int) *core {
	return &core{
		build:   build,
		pending: cmp.Or(pending, protocol.MaxPending),
		level:   levelOf("info"), // until setLevel comes the server decides (2025-11-25 §server/utilities/logging)
		watched: map[string]bool{},
		calls:   map[uint64]*call{},
		byID:    map[jsonrpc.ID]*call{},
		asked:   map[jsonrpc.ID]*call{},
	}
}

// Step takes one message of the client.
func (c *core) Step(now time.Time, m jsonrpc.Message) []effect {
	switch m.Kind() {
	case jsonrpc.KindRequest:
		effects, err := c.request(now, m)
		if err != nil {
			return []effect{send{jsonrpc.Failure(m.ID, protocol.Translate(err, c.version)), m.ID}}
		}
		return effects
	case jsonrpc.KindNotification:
		return c.notified(m)
	case jsonrpc.KindResult, jsonrpc.KindFailure:
		return c.reply(now, m)
	}
	return nil // the transport lets nothing else through
}

// Wake goes on with the call that waited. A wait that the call is past is ignored.
func (c *core) Wake(now time.Time, w wake) []effect {
	k := c.calls[w.call]
	if k == nil || !k.waiting || k.stage != w.stage {
		return nil
	}
	k.waiting = false
	if k.asked.IsZero() {
		k.stage++
		return c.run(now, k)
	}
	effects := c.giveUp(k, "no answer within "+protocol.ParkTimeout.String())
	return append(effects, c.finish(k, failed("the client did not answer within "+protocol.ParkTimeout.String()))...)
}

func (c *core) request(now time.Time, m jsonrpc.Message) ([]effect, error) {
	h, ok := methods[m.Method]
	if !ok {
		return nil, protocol.MethodNotFound(m.Method)
	}
	if c.version == 0 && !h.early {
		return nil, protocol.NotInitialized("connecting", "answer "+m.Method)
	}
	if !isObject(m.Params) {
		return nil, protocol.InvalidParams("params: not an object")
	}
	if m.Method == "tools/call" {
		return c.call(now, m.ID, m.Params)
	}
	result, err := h.handle(c, m.Params)
	if err != nil {
		return nil, err
	}
	return []effect{send{jsonrpc.Response(m.ID, encode(result)), m.ID}}, nil
}

// notified takes a notification. Only one changes anything; the rest, known or not, is nothing to a server that asks for no roots.
func (c *core) notified(m jsonrpc.Message) []effect {
	if m.Method != "notifications/cancelled" {
		return nil
	}
	raw, _ := splice.Get(m.Params, "requestId")
	id, err := jsonrpc.ParseID(raw)
	if err != nil {
		return nil // malformed: ignored (2025-11-25 §basic/utilities/cancellation "Error Handling")
	}
	k := c.byID[id]
	if k == nil {
		return nil
	}
	effects := c.giveUp(k, "the call was cancelled")
	return append(effects, c.forget(k)...)
}

// reply takes an answer to one of our requests. One that nobody waits for is late, and ignored.
func (c *core) reply(now time.Time, m jsonrpc.Message) []effect {
	k := c.asked[m.ID]
	if k == nil {
		return nil
	}
	delete(c.asked, m.ID)
	k.asked, k.answered, k.refused, k.waiting = jsonrpc.ID{}, m.Result, m.Error, false
	k.stage++
	return append([]effect{rest{k.number}}, c.run(now, k)...)
}

// call begins a tools/call.
func (c *core) call(now time.Time, id jsonrpc.ID, params jsontext.Value) ([]effect, error) {
	name, err := required(params, "name")
	if err != nil {
		return nil, err
	}
	t, ok := findTool(name)
	if !ok {
		return nil, protocol.ToolNotFound(name)
	}
	args, _ := splice.Get(params, "arguments")
	if !isObject(args) {
		return nil, protocol.InvalidParams("params.arguments: not an object")
	}
	if c.byID[id] != nil {
		return nil, protocol.RequestIDConflict(id)
	}
	if len(c.calls) >= c.pending {
		return nil, protocol.Overloaded("server demo", 0)
	}
	token, _ := splice.Get(params, "_meta", "progressToken")
	c.served++
	k := &call{number: c.served, id: id, tool: t, args: args, token: token, now: now}
	c.calls[k.number], c.byID[id] = k, k
	if wrong := t.invalid(args); wrong != "" {
		return c.finish(k, failed(wrong)), nil
	}
	return c.run(now, k), nil
}

// run does the steps of a call until one waits or ends it.
func (c *core) run(now time.Time, k *call) []effect {
	k.now = now
	var all []effect
	for {
		effects, on := k.tool.steps[k.stage].do(c, k)
		if all = append(all, effects...); !on {
			return all
		}
		k.stage++
	}
}

// finish ends a call with its result.
func (c *core) finish(k *call, result object) []effect {
	return append(c.forget(k), send{jsonrpc.Response(k.id, encode(result)), k.id})
}

// giveUp withdraws the question that a call waits for, if there is one.
func (c *core) giveUp(k *call, reason string) []effect {
	if k.asked.IsZero() {
		return nil
	}
	params := object{"requestId": jsontext.Value(k.asked.Raw()), "reason": reason}
	return []effect{notify(k, "notifications/cancelled", params)}
}

// forget drops every trace of a call.
func (c *core) forget(k *call) []effect {
	delete(c.calls, k.number)
	delete(c.byID, k.id)
	delete(c.asked, k.asked)
	if !k.waiting {
		return nil
	}
	return []effect{rest{k.number}}
}

// questionID is the id of our nth request: a string, so that it cannot be mistaken for one of the client's own, which are mostly numbers.
func questionID(n uint64) string { return "demo-" + strconv.FormatUint(n, 10) }
