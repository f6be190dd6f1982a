package demo

import (
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/subscription"
)

// step is one action of a tool. The result on says that the call goes on at once. Otherwise the
// call waits, or has ended.
type step interface {
	do(c *core, k *call) (effects []effect, on bool)
}

// answer ends the call with a result that is made from the call's inputs.
type answer func(k *call) object

// returns ends the call with a constant result.
func returns(result object) answer { return func(*call) object { return result } }

func (a answer) do(c *core, k *call) ([]effect, bool) { return c.finish(k, a(k)), false }

// protocolError ends the call with a protocol error.
type protocolError string

func (b protocolError) do(c *core, k *call) ([]effect, bool) {
	return c.fail(k, &protocol.Error{Condition: protocol.ConditionInternal, Message: string(b)}), false
}

// needs ends the call if the client did not declare the capability. A modern client gets an error
// code for that (2026-07-28 §basic "Error Codes"). Older revisions define none (2025-11-25
// §basic/lifecycle "Operation").
type needs string

func (n needs) do(c *core, k *call) ([]effect, bool) {
	switch capability := string(n); {
	case k.client.Has(capability) || capability == tasksCapability && k.taskRequested:
		return nil, true
	case k.version.Has(protocol.SpecErrorCodes):
		return c.fail(k, protocol.CapabilityRequired(capability)), false
	default:
		return c.finish(k, failed(undeclared(capability))), false
	}
}

func undeclared(capability string) string {
	return "this tool needs a client with the capability " + capability
}

// pause waits for a fixed time.
type pause time.Duration

func (p pause) do(_ *core, k *call) ([]effect, bool) {
	return []effect{k.wait(time.Duration(p))}, false
}

// seconds waits for the number of seconds in the argument of that name.
type seconds string

func (s seconds) do(_ *core, k *call) ([]effect, bool) {
	raw, _ := jsonedit.Get(k.args, string(s))
	n, _ := number(raw)
	return []effect{k.wait(time.Duration(n) * time.Second)}, false
}

// logs sends a line at level info, if the client wants that level.
type logs string

func (l logs) do(_ *core, k *call) ([]effect, bool) {
	if !protocol.AtLeast("info", k.level) {
		return nil, true
	}
	params := object{"level": "info", "logger": k.name, "data": string(l)}
	return []effect{notify(k, "notifications/message", params)}, true
}

// progress reports the progress of the call, if the client gave a progress token (2025-11-25
// §basic/utilities/progress).
type progress struct{ done, total float64 }

func (p progress) do(_ *core, k *call) ([]effect, bool) {
	if k.token == nil {
		return nil, true
	}
	params := object{"progressToken": k.token, "progress": p.done, "total": p.total}
	return []effect{notify(k, "notifications/progress", params)}, true
}

// closeStream closes the stream of the call. The client should reconnect after this time
// (2025-11-25 §basic/transports, SEP-1699). Only clients of that revision know how to reconnect.
type closeStream time.Duration

func (s closeStream) do(_ *core, k *call) ([]effect, bool) {
	if !k.version.Has(protocol.PrimedStreams) {
		return nil, true
	}
	return []effect{breakStream{k.id, time.Duration(s)}}, true
}

// touch changes the watched resource.
type touch string

func (t touch) do(c *core, k *call) ([]effect, bool) {
	c.touched++
	k.touched = c.touched
	topic := subscription.Topic{Method: "notifications/resources/updated", URI: string(t)}
	return c.announce(topic, object{"uri": string(t)}, c.session.watched[string(t)]), true
}

// change adds the changing row to a list, "tools" or "prompts", or removes it.
type change string

func (l change) do(c *core, _ *call) ([]effect, bool) {
	c.changed[string(l)] = !c.changed[string(l)]
	topic := subscription.Topic{Method: "notifications/" + string(l) + "/list_changed"}
	return c.announce(topic, nil, c.session.version != 0), true
}

// inTask continues the call as a task, if the client can follow tasks (2026-07-28, SEP-2663) or
// asks for one (2025-11-25). Any other client waits for the end.
type inTask struct{}

func (inTask) do(c *core, k *call) ([]effect, bool) {
	if !k.taskRequested && !(k.version.Has(protocol.TasksExtension) && k.client.Has(tasksCapability)) {
		return nil, true
	}
	created, err := c.newTask(k)
	if err != nil {
		return c.fail(k, err), false
	}
	return []effect{created}, true
}
