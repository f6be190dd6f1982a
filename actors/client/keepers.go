package client

import (
	"crypto/sha256"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/request"
	"mcpd/internal/order"
	"mcpd/protocol/splice"
)

// A keeper is the actor of a task. It uses the connection as a session does, and learns how its task is
// by asking for it. A server of 2025-11-25 may also say so unasked; the connection passes that on to the
// keeper. A keeper is known from the call that made the task, and after a restart of the connection from
// its next question.

// taskID is the hash of a server's id of a task, which may be long.
type taskID [sha256.Size]byte

func taskIDOf(id jsontext.Value) taskID { return sha256.Sum256(id) }

// noteMade notes the task that a call has made.
func (c *Connection) noteMade(x *request.Exchange, result jsontext.Value) {
	if !x.Stays || x.Method != "tools/call" {
		return
	}
	if id, ok := splice.Get(result, "task", "taskId"); ok {
		c.keeps(x.Session, id)
	}
}

// noteAsked notes the task that a keeper asks for.
func (c *Connection) noteAsked(x *request.Exchange) {
	if !x.Stays || x.Method != "tasks/get" {
		return
	}
	if id, ok := splice.Get(x.Params, "taskId"); ok {
		c.keeps(x.Session, id)
	}
}

func (c *Connection) keeps(row string, id jsontext.Value) {
	if _, uses := c.sessions[row]; !uses {
		return
	}
	if c.keepers == nil {
		c.keepers = map[string]taskID{}
	}
	c.keepers[row] = taskIDOf(id)
}

// taskStatus passes on what the server says of a task. Nobody keeps most tasks whose status is told
// late: they have ended.
func (c *Connection) taskStatus(params jsontext.Value) {
	id, ok := splice.Get(params, "taskId")
	if !ok {
		return
	}
	sum := taskIDOf(id)
	for row, kept := range order.Of(c.keepers) {
		if kept == sum {
			_ = c.p.Send(c.sessions[row], &TaskStatus{params})
		}
	}
}
