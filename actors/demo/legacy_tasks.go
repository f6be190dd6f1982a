package demo

import (
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// This file has the features of tasks that only 2025-11-25 has (§basic/utilities/tasks): the
// client asks for a task, waits for its end with a request, and is asked for input on the stream of
// that request.

// support is the declared task support of a tool. A tool with the step inTask may run as a task. A
// tool that needs a client with tasks must run as one.
func (t tool) support() string {
	support := ""
	for _, s := range t.steps {
		switch s := s.(type) {
		case needs:
			if string(s) == tasksCapability {
				return "required"
			}
		case inTask:
			support = "optional"
		}
	}
	return support
}

// taskRequested reports whether the client asks for a task. The tool may forbid or require it.
func (t tool) taskRequested(r request) (bool, error) {
	if !r.version.Has(protocol.Tasks) {
		return false, nil
	}
	_, asked := jsonedit.Get(r.params, "task")
	switch support := t.support(); {
	case asked && support == "":
		return false, &protocol.Error{
			Condition: protocol.ConditionMethodNotFound, Message: t.name + " is not run as a task",
		}
	case !asked && support == "required":
		return false, &protocol.Error{
			Condition: protocol.ConditionMethodNotFound, Message: t.name + " is run as a task only",
		}
	}
	return asked, nil
}

// ttlOf is how long a task is kept: as long as the client wishes, up to the default.
func ttlOf(k *call) time.Duration {
	raw, _ := jsonedit.Get(k.request.params, "task", "ttl")
	if n, err := strconv.ParseUint(string(raw), 10, 32); err == nil && k.taskRequested && n > 0 {
		return min(time.Duration(n)*time.Millisecond, taskTTL)
	}
	return taskTTL
}

// finishTask ends a task with the result of its tool. The result is the same as without a task,
// except for the server's name in it.
func (c *core) finishTask(t *task, result jsontext.Value) []effect {
	if !t.core {
		t.result = set(result, `"complete"`, "resultType")
		return c.setStatus(t, completed)
	}
	t.result = t.related(result)
	if failed, _ := jsonedit.Get(result, "isError"); failed.Kind() == 't' {
		return c.setStatus(t, failedStatus)
	}
	return c.setStatus(t, completed)
}

// related marks a message as belonging to the task.
func (t *task) related(message jsontext.Value) jsontext.Value {
	if !t.core {
		return message
	}
	return set(message, encode(object{"taskId": t.id}), "_meta", protocol.MetaRelatedTask)
}

// listTasks lists the tasks of the client. They fit on one page.
func listTasks(c *core, r request) (any, error) {
	if _, given := jsonedit.Get(r.params, "cursor"); given {
		return nil, protocol.StateInvalid("cursor")
	}
	list := []object{}
	for _, t := range c.tasks {
		if t.core {
			list = append(list, t.object())
		}
	}
	return object{"tasks": list}, nil
}

// maxWaiters bounds the requests that wait for the end of one task.
const maxWaiters = 16

// resultOfTask answers when the task has ended. Until then, the client can be asked on its stream.
func resultOfTask(c *core, r request) ([]effect, error) {
	t, err := c.task(r)
	switch {
	case err != nil:
		return nil, err
	case len(t.waiters) >= maxWaiters:
		return nil, protocol.Overloaded("task", 0)
	}
	t.waiters = append(t.waiters, r)
	if t.status.final() {
		return c.answerWaiters(t), nil
	}
	return c.askOn(t), nil
}

// answerWaiters answers the requests that wait for the end of a task, if it has ended.
func (c *core) answerWaiters(t *task) (effects []effect) {
	if !t.status.final() {
		return nil
	}
	for _, r := range t.waiters {
		switch {
		case t.err != nil:
			effects = append(effects, send{jsonrpc.Failure(r.id, t.err), r.id})
		case t.result != nil:
			effects = append(effects, c.complete(r, t.result))
		default:
			effects = append(effects, r.failure(protocol.InvalidParams("the task was cancelled")))
		}
	}
	t.waiters = nil
	return effects
}

// askOn asks the client for the inputs of a task, once the client has an open request on whose
// stream that is possible.
func (c *core) askOn(t *task) []effect {
	if !t.core || t.status != inputRequired || len(t.waiters) == 0 || len(t.call.open) > 0 {
		return nil
	}
	return c.question(t.call, t.pending, t.waiters[0].id)
}

// removeWaiter forgets a request that waits for the end of a task, with the questions on its
// stream. They are asked again on the next one.
func (c *core) removeWaiter(id jsonrpc.ID) {
	for _, t := range c.tasks {
		n := len(t.waiters)
		if t.waiters = slices.DeleteFunc(t.waiters, func(r request) bool {
			return r.id == id
		}); len(t.waiters) == n || t.call == nil {
			continue
		}
		t.call.open = slices.DeleteFunc(t.call.open, func(q question) bool {
			if q.on == id {
				delete(c.asked, q.id)
			}
			return q.on == id
		})
	}
}
