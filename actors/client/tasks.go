package client

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/splice"
)

// ofTask is the request that waits for the task which a question says that it belongs to (2025-11-25 §basic/utilities/tasks, "Related Task
// Metadata"); nil when it says none, or nobody waits for that.
func (c *Connection) ofTask(question jsontext.Value) *request.Exchange {
	task, ok := splice.Get(question, "_meta", protocol.MetaRelatedTask, "taskId")
	if !ok {
		return nil
	}
	for _, f := range c.calls.all() {
		if waits, _ := splice.Get(f.x.Params, "taskId"); f.x.Method == "tasks/result" && bytes.Equal(waits, task) {
			return f.x
		}
	}
	return nil
}
