package demo

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// call is a tools/call or prompts/get in progress: steps that run in order. The client waits for
// its end. If the call has become a task, the client polls its state instead.
type call struct {
	request
	number        uint64 // in order of arrival; unlike the client's id it is never reused
	name          string // of the tool or prompt
	steps         []step
	args          jsontext.Value // an object, or empty
	token         jsontext.Value // progress token; nil for none
	stage         int            // step that runs next, or waits
	now           time.Time      // time of the step
	task          *task          // nil while the client waits for the result
	taskRequested bool           // the client asked for a task

	waiting bool // for time to pass, or for the client with a time-out
	open    []question
	answers map[string]jsontext.Value // of the client, by the key of the input
	refused map[string]*jsonrpc.Error // inputs that the client refused, by key
	touched int                       // version of the watched resource that the call made
}

// question is a request of the server that the client has not answered.
type question struct {
	id  jsonrpc.ID
	key string     // of the input
	on  jsonrpc.ID // request on whose stream it was sent
}

// begin starts a call from a request.
func (c *core) begin(r request, name string, steps []step, args jsontext.Value) (*call, error) {
	if c.byID[r.id] != nil || c.listening(r.id) {
		return nil, protocol.RequestIDConflict(r.id)
	}
	if len(c.calls) >= c.pending {
		return nil, protocol.Overloaded("server demo", 0)
	}
	token, _ := protocol.ProgressToken(r.params)
	k := &call{
		request: r, number: c.served + 1, name: name, steps: steps, args: args, token: token,
		answers: map[string]jsontext.Value{}, refused: map[string]*jsonrpc.Error{},
	}
	if err := c.resume(k); err != nil {
		return nil, err
	}
	c.served++
	c.calls[k.number], c.byID[r.id] = k, k
	return k, nil
}

// run runs the steps of a call until one waits or ends it.
func (c *core) run(k *call) []effect {
	k.now = c.now
	var all []effect
	for {
		effects, on := k.steps[k.stage].do(c, k)
		if all = append(all, effects...); !on {
			return all
		}
		k.stage++
	}
}

// finish ends a call with its result.
func (c *core) finish(k *call, result object) []effect {
	effects := c.forget(k)
	if k.task != nil {
		return append(effects, c.finishTask(k.task, encode(result))...)
	}
	return append(effects, c.complete(k.request, encode(result)))
}

// fail ends a call with a protocol error.
func (c *core) fail(k *call, err error) []effect {
	effects := c.forget(k)
	if k.task != nil {
		k.task.err = protocol.Translate(err, k.version)
		return append(effects, c.setStatus(k.task, failedStatus)...)
	}
	return append(effects, k.failure(err))
}

// failCall ends a call that cannot be done. A tool says so in its result, for the model to read. A
// prompt has no such result, so it fails with err.
func (c *core) failCall(k *call, reason string, err error) []effect {
	if k.method == "prompts/get" {
		return c.fail(k, err)
	}
	return c.finish(k, failed(reason))
}

// giveUp withdraws the open questions of a call.
func (c *core) giveUp(k *call, reason string) (effects []effect) {
	for _, q := range k.open {
		params := object{"requestId": jsontext.Value(q.id.Raw()), "reason": reason}
		effects = append(effects, send{
			jsonrpc.Notification("notifications/cancelled", encode(params)), q.on,
		})
	}
	return effects
}

// forget drops every trace of a call.
func (c *core) forget(k *call) []effect {
	delete(c.calls, k.number)
	if k.task == nil {
		delete(c.byID, k.id)
	}
	for _, q := range k.open {
		delete(c.asked, q.id)
	}
	if !k.waiting {
		return nil
	}
	return []effect{stopWait{k.number}}
}

// arg is an argument that was checked to be a string, or "" for an optional one that is absent.
func (k *call) arg(name string) string {
	s, _ := jsonedit.GetString(k.args, name)
	return s
}

// wait marks the call as waiting for at most d.
func (k *call) wait(d time.Duration) effect {
	k.waiting = true
	return wait{wake{k.number, k.stage}, d}
}

func notify(k *call, method string, params object) effect {
	return send{jsonrpc.Notification(method, encode(params)), k.id}
}
