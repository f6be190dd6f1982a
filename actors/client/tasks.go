package client

import (
	"bytes"
	"crypto/sha256"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/request"
	"mcpd/internal/sortedmap"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// ofTask returns the request that waits for the task to which a question says that it belongs
// (2025-11-25 §basic/utilities/tasks, "Related Task Metadata"). It is nil if the question names no
// task, or nobody waits for that task.
func (c *Connection) ofTask(question jsontext.Value) *request.Exchange {
	task, ok := jsonedit.Get(question, "_meta", protocol.MetaRelatedTask, "taskId")
	if !ok {
		return nil
	}
	for _, f := range c.calls.all() {
		if waits, _ := jsonedit.Get(f.x.Params, "taskId"); f.x.Method == "tasks/result" &&
			bytes.Equal(waits, task) {
			return f.x
		}
	}
	return nil
}

// A keeper is the actor of a task. It uses the connection as a session does, and polls the state of
// its task. A server of 2025-11-25 may also send the state unasked; the connection passes that on
// to the keeper. A keeper is known from the call that made the task, and after a restart of the
// connection from its next poll.

// taskID is the hash of a server's task id, which may be long.
type taskID [sha256.Size]byte

// noteMade records the task that a call has made, and noteAsked the task that a keeper asks for.
func (c *Connection) noteMade(x *request.Exchange, result jsontext.Value) {
	c.noteTask(x, "tools/call", result, "task", "taskId")
}

func (c *Connection) noteAsked(x *request.Exchange) {
	c.noteTask(x, "tasks/get", x.Params, "taskId")
}

func (c *Connection) noteTask(x *request.Exchange, by string, in jsontext.Value, at ...string) {
	if !x.NeedsConnection || x.Method != by {
		return
	}
	if id, ok := jsonedit.Get(in, at...); ok {
		c.clients.keeps(x.Session, id)
	}
}

// taskStatus passes on the status of a task. Most tasks whose status comes late have no keeper:
// they have ended.
func (c *Connection) taskStatus(params jsontext.Value) {
	id, ok := jsonedit.Get(params, "taskId")
	if !ok {
		return
	}
	for _, keeper := range sortedmap.Sorted(c.clients.keepers(id)) {
		_ = c.p.Send(keeper.ref, &TaskStatus{params})
	}
}
