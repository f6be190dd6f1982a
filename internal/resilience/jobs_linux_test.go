package resilience

import (
	"path/filepath"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// withJobs is the file name of the effects of a server that runs its tools as tasks of 2025-11-25
// if the client asks for that. A held call is then a task that works.
const withJobs = "jobs"

// jobs are the tasks of a server by their id, which is the text of the call.
type jobs map[string]*job

type job struct {
	done    bool
	waiting []jsonrpc.ID // requests for tasks/result that wait for an answer
}

func newJobs(effects string) jobs {
	if filepath.Base(effects) != withJobs {
		return nil
	}
	return jobs{}
}

// capabilities returns the server's capability for tasks, or "" if it has none.
func (j jobs) capabilities() string {
	if j == nil {
		return ""
	}
	return `"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}},`
}

// toolSupport returns a tool's support for tasks, or "" if it has none.
func (j jobs) toolSupport(tool string) string {
	if j == nil || tool != note && tool != hold {
		return ""
	}
	return `,"execution":{"taskSupport":"optional"}`
}

// begin starts a task for a call that asks for one.
func (j jobs) begin(m jsonrpc.Message, tool, text string) (answers []jsonrpc.Message, begun bool) {
	if _, asks := jsonedit.Get(m.Params, "task"); j == nil || !asks {
		return nil, false
	}
	j[text] = &job{done: tool != hold}
	return []jsonrpc.Message{jsonrpc.Response(m.ID,
		jsontext.Value(`{"task":`+j.object(text)+`}`))}, true
}

// free completes every task and returns the answers to the requests that wait for a task.
func (j jobs) free() (answers []jsonrpc.Message) {
	for text, one := range j {
		one.done = true
		for _, id := range one.waiting {
			answers = append(answers, jsonrpc.Response(id, jsontext.Value(textResult(text))))
		}
		one.waiting = nil
	}
	return answers
}

// ask answers a request about a task.
func (j jobs) ask(m jsonrpc.Message) []jsonrpc.Message {
	text, _ := jsonedit.GetString(m.Params, "taskId")
	one := j[text]
	switch {
	case one == nil:
		return []jsonrpc.Message{
			jsonrpc.Failure(m.ID, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no such task"}),
		}
	case m.Method == "tasks/result" && one.done:
		return []jsonrpc.Message{jsonrpc.Response(m.ID, jsontext.Value(textResult(text)))}
	case m.Method == "tasks/result":
		one.waiting = append(one.waiting, m.ID)
		return nil
	}
	return []jsonrpc.Message{jsonrpc.Response(m.ID, jsontext.Value(j.object(text)))}
}

func (j jobs) object(text string) string {
	status := "working"
	if j[text].done {
		status = "completed"
	}
	return `{"taskId":"` + text + `","status":"` + status +
		`","createdAt":"2026-11-20T12:00:00Z","lastUpdatedAt":"2026-11-20T12:00:00Z","ttl":600000,"pollInterval":500}`
}

// textResult returns the result of a tool with the given text.
func textResult(text string) string { return `{"content":[{"type":"text","text":"` + text + `"}]}` }
