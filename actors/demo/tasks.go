package demo

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/mrtr"
)

// This file has the methods of tasks: of the extension (SEP-2663), if the client declared it, and
// of 2025-11-25, as far as they concern the server.

func getTask(c *core, r request) (any, error) {
	t, err := c.task(r)
	if err != nil {
		return nil, err
	}
	if t.core {
		return t.object(), nil
	}
	return t.detail(), nil
}

// updateTask gives a task some or all of the inputs that it waits for. Other inputs are ignored.
func updateTask(c *core, r request) ([]effect, error) {
	t, err := c.task(r)
	if err != nil {
		return nil, err
	}
	if _, given := jsonedit.Get(r.params, "inputResponses"); !given {
		return nil, protocol.InvalidParams("inputResponses is missing")
	}
	responses, err := mrtr.ParseRetry(r.params)
	if err != nil {
		return nil, err
	}
	effects := []effect{c.complete(r, jsontext.Value("{}"))}
	if t.status != inputRequired {
		return effects, nil
	}
	before := len(t.pending)
	if err := t.call.accept(responses, t.pending); err != nil {
		return nil, err
	}
	t.pending = slices.DeleteFunc(slices.Clone(t.pending), func(in input) bool {
		return t.call.answers[in.key] != nil
	})
	switch {
	case len(t.pending) == before:
		return effects, nil
	case len(t.pending) > 0:
		return append(effects, c.setStatus(t, inputRequired)...), nil
	}
	effects = append(effects, c.setStatus(t, working)...)
	return append(effects, c.run(t.call)...), nil
}

// cancelTask stops a task. A task that has ended stays as it is. That is an error only for tasks of
// 2025-11-25.
func cancelTask(c *core, r request) ([]effect, error) {
	t, err := c.task(r)
	if err != nil {
		return nil, err
	}
	if t.status.final() && t.core {
		return nil, protocol.InvalidParams("the task is " + string(t.status) + " already")
	}
	var effects []effect
	if !t.core {
		effects = append(effects, c.complete(r, jsontext.Value("{}")))
	}
	if !t.status.final() {
		effects = append(effects, c.giveUp(t.call, "the task was cancelled")...)
		effects = append(effects, c.forget(t.call)...)
		effects = append(effects, c.setStatus(t, cancelled)...)
	}
	if t.core {
		effects = append(effects, c.complete(r, encode(t.object())))
	}
	return effects, nil
}

// task finds the task that a request names. It finds only tasks of the request's own dialect.
func (c *core) task(r request) (*task, error) {
	id, err := required(r.params, "taskId")
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(c.tasks, func(t *task) bool {
		return t.id == id && t.core == r.version.Has(protocol.Tasks)
	})
	if i < 0 {
		return nil, protocol.StateInvalid("task")
	}
	return c.tasks[i], nil
}
