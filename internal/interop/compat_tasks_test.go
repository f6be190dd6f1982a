package interop

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/mrtr"
)

// callTask calls a tool as a task, in the way of the revision, waits until it is done, and answers
// the questions of the server. It returns a description of the failure: there is no task, or the
// outcome does not contain want.
func (c *matrixClient) callTask(tool, arguments, want string) string {
	c.t.Helper()
	call := `{"name":"` + tool + `","arguments":` + arguments
	if c.version.Has(protocol.TasksExtension) {
		c.tasks = true
		defer func() { c.tasks = false }()
		answer := c.exchange("tools/call", call+`}`, nil)
		if mrtr.TypeOf(answer.Result) != mrtr.Task {
			return string(answer.Append(nil))
		}
		return c.poll(answer.Result, want)
	}
	answer := c.exchange("tools/call", call+`,"task":{"ttl":60000}}`, nil)
	id, made := jsonedit.GetString(answer.Result, "task", "taskId")
	if !made {
		return string(answer.Append(nil))
	}
	outcome, _ := c.request("tasks/result", `{"taskId":"`+id+`"}`)
	if related, _ := jsonedit.GetString(outcome.Result, "_meta", protocol.MetaRelatedTask,
		"taskId"); related != id {
		return "related to another: " + string(outcome.Append(nil))
	}
	return checkContains(outcome, want)
}

// poll asks for the state of a task of the extension until the task is done.
func (c *matrixClient) poll(task jsontext.Value, want string) string {
	id, _ := jsonedit.Get(task, "taskId")
	about, _ := jsonedit.Set(nil, id, "taskId")
	for deadline := time.Now().Add(
		2 * patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		got := c.exchange("tasks/get", string(about), nil)
		switch status, _ := jsonedit.GetString(got.Result, "status"); status {
		case "working":
			continue
		case "input_required":
			requests, _ := jsonedit.Get(got.Result, "inputRequests")
			required, _ := jsonedit.Set(nil, requests, "inputRequests")
			asked, err := mrtr.Parse(required)
			if err != nil {
				return err.Error()
			}
			var retry mrtr.Retry
			for _, in := range asked.Inputs {
				retry.Responses = append(retry.Responses, mrtr.Response{
					Key: in.Key, Value: jsontext.Value(answers[in.Method]),
				})
			}
			if answer := c.exchange("tasks/update", string(retry.Set(about)), nil); answer.Error != nil {
				return string(answer.Append(nil))
			}
		default:
			return checkContains(got, want)
		}
	}
	return "the task is never done"
}
