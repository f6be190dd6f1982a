package demo

import (
	"encoding/hex"
	"io"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/subscription"
)

const (
	// maxTasks bounds the tasks of a connection, including finished tasks, which keep their results
	// for some time.
	maxTasks = 256
	// taskTTL is how long a task is kept after its creation, in any state. The slowest tool takes a
	// fraction of it, and people answer within minutes.
	taskTTL = 10 * time.Minute
	// taskPoll is how often a client should poll.
	taskPoll = 500 * time.Millisecond
	// taskIDBytes make an id that cannot be guessed, because the id is the only protection.
	taskIDBytes = 16
)

// tasksCapability is the capability of a client that can follow tasks.
const tasksCapability = "extensions." + protocol.ExtensionTasks

// status is the status of a task (SEP-2663 "Task Status").
type status string

// The last three are final.
const (
	working       status = "working"
	inputRequired status = "input_required"
	completed     status = "completed"
	// by a protocol error; a tool that reports its own failure has completed
	failedStatus status = "failed"
	cancelled    status = "cancelled"
)

func (s status) final() bool { return s == completed || s == failedStatus || s == cancelled }

// task is a call that goes on after its request was answered.
type task struct {
	id               string
	core             bool  // of 2025-11-25; otherwise of the extension
	call             *call // nil when it has ended
	created, updated time.Time
	status           status
	pending          []input        // inputs that the task waits for, while input is required
	result           jsontext.Value // set when completed, or when the tool itself reports its failure
	err              *jsonrpc.Error // set when broken
	ttl              time.Duration
	waiters          []request // tasks/result requests without an answer
}

// newTask makes a task of a call, and the answer that says so. From then on the call has no
// request, so it sends neither progress nor log lines (SEP-2663 "Task Status Notifications").
func (c *core) newTask(k *call) (effect, error) {
	if len(c.tasks) >= maxTasks {
		return nil, protocol.Overloaded("server demo", 0)
	}
	if len(k.args) > maxKept {
		return nil, protocol.TooLarge("params.arguments", maxKept)
	}
	id := make([]byte, taskIDBytes)
	if _, err := io.ReadFull(c.random, id); err != nil {
		return nil, protocol.InternalError(err)
	}
	t := &task{
		id: hex.EncodeToString(id), core: k.taskRequested, call: k, created: c.now, updated: c.now,
		status: working, ttl: ttlOf(k),
	}
	c.tasks = append(c.tasks, t)
	delete(c.byID, k.id)
	k.task, k.token, k.level = t, nil, ""
	k.args, k.params = slices.Clone(k.args), nil // the message that contains them can be freed
	created := t.object()
	if t.core {
		return send{jsonrpc.Response(k.id, encode(object{"task": created})), k.id}, nil
	}
	created["resultType"] = "task"
	return send{jsonrpc.Response(k.id, c.signed(encode(created))), k.id}, nil
}

// setStatus changes the status of a task and tells the listening clients.
func (c *core) setStatus(t *task, to status) []effect {
	t.status, t.updated = to, c.now
	if to.final() {
		t.call, t.pending = nil, nil
	}
	if t.core {
		effects := []effect{
			send{message: jsonrpc.Notification("notifications/tasks/status", encode(t.object()))},
		}
		return append(effects, c.answerWaiters(t)...)
	}
	return c.announce(subscription.Topic{Method: "notifications/tasks", URI: t.id}, t.detail(), false)
}

// object is the task in the form of CreateTaskResult.
func (t *task) object() object {
	ttl, poll := "ttlMs", "pollIntervalMs"
	if t.core {
		ttl, poll = "ttl", "pollInterval"
	}
	return object{
		"taskId":        t.id,
		"status":        t.status,
		"createdAt":     t.created.UTC().Format(time.RFC3339Nano),
		"lastUpdatedAt": t.updated.UTC().Format(time.RFC3339Nano),
		ttl:             t.ttl.Milliseconds(),
		poll:            taskPoll.Milliseconds(),
	}
}

// detail is the task with the members of its status, in the form of tasks/get and
// notifications/tasks.
func (t *task) detail() object {
	o := t.object()
	switch t.status {
	case inputRequired:
		o["inputRequests"], _ = jsonedit.Get(mrtr.Required{Inputs: wanted(t.call, t.pending)}.Result(),
			"inputRequests")
	case completed:
		o["result"] = t.result
	case failedStatus:
		e := object{"code": t.err.Code, "message": t.err.Message}
		if len(t.err.Data) > 0 {
			e["data"] = t.err.Data
		}
		o["error"] = e
	}
	return o
}

// expire forgets the tasks whose time is over.
func (c *core) expire() (effects []effect) {
	over := func(t *task) bool { return !c.now.Before(t.created.Add(t.ttl)) }
	for _, t := range c.tasks {
		if over(t) && !t.status.final() {
			effects = append(effects, c.forget(t.call)...)
			t.err, t.status = protocol.Translate(protocol.StateInvalid("taskId"),
				protocol.LatestLegacy), failedStatus
			effects = append(effects, c.answerWaiters(t)...)
		}
	}
	c.tasks = slices.DeleteFunc(c.tasks, over)
	return effects
}
