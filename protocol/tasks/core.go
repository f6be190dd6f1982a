package tasks

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// Between two ends that have tasks of 2025-11-25 a task passes as its server has it, but for its id:
// how long it is kept, how often to ask for it, and _meta of what the server answers.

// theirs is what the server of such a task says of it. The zero value is nothing.
type theirs struct {
	known bool
	ttl   jsontext.Value // a number, or null for no end
	poll  jsontext.Value // a number; empty for none
	meta  jsontext.Value // of the last answer about the task; empty for none
}

// passes reports whether both ends have tasks of the core.
func (t *Task) passes() bool { return t.o.Down == Core && t.o.Up == Core }

// hear takes what an answer says of the task. The task is the answer itself, or a member of it.
func (t *Task) hear(answer, task jsontext.Value) {
	if !t.passes() {
		return
	}
	meta, _ := splice.Get(unrelated(answer.Clone()), "_meta")
	ttl, _ := splice.Get(task, "ttl")
	poll, _ := splice.Get(task, "pollInterval")
	if k := ttl.Kind(); k != '0' && k != 'n' { // which the schema does not allow
		ttl = millis(t.ttl)
	}
	if poll.Kind() != '0' {
		poll = nil
	}
	t.theirs = theirs{true, ttl.Clone(), poll.Clone(), meta.Clone()}
}

// withMeta is an answer to the client with the server's _meta.
func (t *Task) withMeta(answer jsontext.Value) jsontext.Value {
	if t.theirs.meta.Kind() == '{' {
		answer, _ = splice.Set(answer, t.theirs.meta, "_meta")
	}
	return answer
}
