package tasks

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// If both sides have tasks of 2025-11-25, the client receives the task as the server sends it,
// except for its id: the ttl, the poll interval, the times of creation and change, the _meta of the
// server's answers, and the notifications.

// upstreamData holds the server's data about such a task. The zero value holds none.
type upstreamData struct {
	known bool
	ttl   jsontext.Value // a number; null for no limit
	poll  jsontext.Value // a number; empty for none
	meta  jsontext.Value // of the last answer about the task; empty for none
	// made and updated are the task's times, as JSON strings. If empty, the host's own times apply.
	made, updated jsontext.Value
}

// passes reports whether both sides have core tasks.
func (t *Task) passes() bool { return t.o.ClientDialect == Core && t.o.ServerDialect == Core }

// storeAnswer stores the data of an answer about the task. The task is the answer itself or a
// member of it.
func (t *Task) storeAnswer(answer, task jsontext.Value) {
	if !t.passes() {
		return
	}
	meta, _ := jsonedit.Get(withoutTaskID(answer.Clone()), "_meta")
	t.storeTask(task, meta)
}

// storeTask stores the server's data about the task, with the _meta that belongs to it.
func (t *Task) storeTask(task, meta jsontext.Value) {
	ttl, _ := jsonedit.Get(task, "ttl")
	poll, _ := jsonedit.Get(task, "pollInterval")
	if k := ttl.Kind(); k != '0' && k != 'n' { // violates the schema
		ttl = millis(t.ttl)
	}
	if poll.Kind() != '0' {
		poll = nil
	}
	t.upstream = upstreamData{
		true, ttl.Clone(), poll.Clone(), meta.Clone(), timeOf(task, "createdAt"),
		timeOf(task, "lastUpdatedAt"),
	}
}

// maxTime bounds a time in the server's spelling, in bytes.
const maxTime = 64

// timeOf returns a time of a task; empty for none.
func timeOf(task jsontext.Value, name string) jsontext.Value {
	at, _ := jsonedit.Get(task, name)
	if at.Kind() != '"' || len(at) > maxTime {
		return nil
	}
	return at.Clone()
}

// notified handles a notification of the server about the task. The client receives it with the
// client's id of the task. If the notification reports another status, the host instead first
// requests the data of that status from the server.
func (t *Task) notified(params jsontext.Value) {
	own, _ := jsonedit.Get(params, "taskId")
	if !t.passes() || t.status.Final() || len(t.upstreamID) == 0 || !bytes.Equal(own, t.upstreamID) {
		return
	}
	t.storeTask(params, t.upstream.meta)
	t.pace(params)
	if status, _ := jsonedit.GetString(params, "status"); Status(status) == t.status {
		if message, _ := jsonedit.GetString(params, "statusMessage"); message != t.message {
			t.message, t.updated = message, t.now
		}
		said, _ := jsonedit.Set(withoutTaskID(params.Clone()), jsonedit.Quote(t.o.ID), "taskId")
		t.do(Effect{Do: Tell, Params: said})
	}
	t.onStatus(params)
}

// withMeta returns an answer to the client with the server's _meta.
func (t *Task) withMeta(answer jsontext.Value) jsontext.Value {
	if t.upstream.meta.Kind() == '{' {
		answer, _ = jsonedit.Set(answer, t.upstream.meta, "_meta")
	}
	return answer
}
