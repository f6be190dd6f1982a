package tasks

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// Between two ends that have tasks of 2025-11-25 a task passes as its server has it, but for its id:
// how long it is kept, how often to ask for it, when it was made and changed, _meta of what the server
// answers, and its notifications.

// theirs is what the server of such a task says of it. The zero value is nothing.
type theirs struct {
	known bool
	ttl   jsontext.Value // a number, or null for no end
	poll  jsontext.Value // a number; empty for none
	meta  jsontext.Value // of the last answer about the task; empty for none
	// made and updated are when the task was, as JSON strings; empty when the host's own times count.
	made, updated jsontext.Value
}

// passes reports whether both ends have tasks of the core.
func (t *Task) passes() bool { return t.o.Down == Core && t.o.Up == Core }

// hear takes what an answer says of the task. The task is the answer itself, or a member of it.
func (t *Task) hear(answer, task jsontext.Value) {
	if !t.passes() {
		return
	}
	meta, _ := splice.Get(unrelated(answer.Clone()), "_meta")
	t.hearTask(task, meta)
}

// hearTask takes what the server says of the task itself, and the _meta to go with it.
func (t *Task) hearTask(task, meta jsontext.Value) {
	ttl, _ := splice.Get(task, "ttl")
	poll, _ := splice.Get(task, "pollInterval")
	if k := ttl.Kind(); k != '0' && k != 'n' { // which the schema does not allow
		ttl = millis(t.ttl)
	}
	if poll.Kind() != '0' {
		poll = nil
	}
	t.theirs = theirs{
		true, ttl.Clone(), poll.Clone(), meta.Clone(), timeOf(task, "createdAt"), timeOf(task, "lastUpdatedAt"),
	}
}

// maxTime bounds a time that a server writes, in bytes.
const maxTime = 64

// timeOf is a time in a task; empty where there is none.
func timeOf(task jsontext.Value, name string) jsontext.Value {
	at, _ := splice.Get(task, name)
	if at.Kind() != '"' || len(at) > maxTime {
		return nil
	}
	return at.Clone()
}

// notified takes a notification of the server about the task. The client gets it as it is, unless it
// says that the task has another status: then the host first gets what belongs to that.
func (t *Task) notified(params jsontext.Value) {
	own, _ := splice.Get(params, "taskId")
	if !t.passes() || t.status.Final() || len(t.own) == 0 || !bytes.Equal(own, t.own) {
		return
	}
	t.hearTask(params, t.theirs.meta)
	t.pace(params)
	if status, _ := splice.GetString(params, "status"); Status(status) == t.status {
		if message, _ := splice.GetString(params, "statusMessage"); message != t.message {
			t.message, t.updated = message, t.now
		}
		said, _ := splice.Set(unrelated(params.Clone()), splice.Quote(t.o.ID), "taskId")
		t.do(Effect{Do: Tell, Params: said})
	}
	t.doing(params)
}

// withMeta is an answer to the client with the server's _meta.
func (t *Task) withMeta(answer jsontext.Value) jsontext.Value {
	if t.theirs.meta.Kind() == '{' {
		answer, _ = splice.Set(answer, t.theirs.meta, "_meta")
	}
	return answer
}
