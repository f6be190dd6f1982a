package demo

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/splice"
)

// The methods of the tasks extension (SEP-2663). That the client declared it was checked with the method.

func getTask(c *core, r request) (any, error) {
	t, err := c.task(r.params)
	if err != nil {
		return nil, err
	}
	return t.detail(), nil
}

// updateTask gives a task the inputs that it waits for, or some of them. What it does not wait for is ignored.
func updateTask(c *core, r request) ([]effect, error) {
	t, err := c.task(r.params)
	if err != nil {
		return nil, err
	}
	if _, given := splice.Get(r.params, "inputResponses"); !given {
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
	t.pending = slices.DeleteFunc(slices.Clone(t.pending), func(in input) bool { return t.call.answers[in.key] != nil })
	switch {
	case len(t.pending) == before:
		return effects, nil
	case len(t.pending) > 0:
		return append(effects, c.turn(t, inputRequired)...), nil
	}
	effects = append(effects, c.turn(t, working)...)
	return append(effects, c.run(t.call)...), nil
}

// cancelTask stops a task. One that has ended stays as it is, which is no error.
func cancelTask(c *core, r request) ([]effect, error) {
	t, err := c.task(r.params)
	if err != nil {
		return nil, err
	}
	effects := []effect{c.complete(r, jsontext.Value("{}"))}
	if t.status.final() {
		return effects, nil
	}
	effects = append(effects, c.forget(t.call)...)
	return append(effects, c.turn(t, cancelled)...), nil
}

// task is the task that params name.
func (c *core) task(params jsontext.Value) (*task, error) {
	id, err := required(params, "taskId")
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(c.tasks, func(t *task) bool { return t.id == id })
	if i < 0 {
		return nil, protocol.StateInvalid("task")
	}
	return c.tasks[i], nil
}
