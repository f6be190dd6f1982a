package tasks

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/rewrite"
)

// answered handles the server's answer to a request of the host.
func (t *Task) answered(in Event) {
	if i := slices.Index(t.ignored, in.Number); i >= 0 {
		if t.ignored = slices.Delete(t.ignored, i, i+1); t.status.Final() {
			t.release()
		}
		return
	}
	switch {
	case t.status.Final():
	case in.Number == t.toolCall:
		t.toolCall = 0
		t.called(in)
	case in.Number == t.pollCall:
		t.pollCall = 0
		t.polled(in)
	case in.Number == t.resultCall:
		t.resultCall = 0
		t.finish(in.Result, in.Err)
	}
}

// called handles the answer to tools/call: a task, a question, or the outcome.
func (t *Task) called(in Event) {
	if in.Err != nil {
		t.finish(nil, in.Err)
		return
	}
	task, content := jsontext.Value(nil), false
	switch t.o.ServerDialect {
	case Core:
		task, _ = jsonedit.Get(in.Result, "task")
		_, content = jsonedit.Get(in.Result, "content")
	default:
		switch mrtr.TypeOf(in.Result) {
		case mrtr.Task:
			task = in.Result
		case mrtr.InputRequired:
			t.required(in.Result)
			return
		}
	}
	if task.Kind() != '{' || content {
		t.finish(in.Result, nil)
		return
	}
	own, _ := jsonedit.Get(task, "taskId")
	if own.Kind() != '"' {
		t.finish(nil, errors.New("the server made a task without an id"))
		return
	}
	t.upstreamID, t.unsaved = own.Clone(), true
	of := names[t.o.ServerDialect]
	if ttl, ok := duration(task, of.ttl); ok && t.passes() {
		t.ttl = min(MaxTTL, t.now.Sub(t.created)+ttl)
	} else if ok {
		t.ttl = min(t.ttl, t.now.Sub(t.created)+ttl)
	}
	t.storeAnswer(in.Result, task)
	t.pace(task)
	t.create()
	if status, _ := jsonedit.GetString(task, "status"); t.o.ServerDialect == Extension &&
		Status(status) != Working {
		// The data of the status are in the answer to tasks/get (SEP-2663).
		t.pollCall = t.call("tasks/get", t.about())
		return
	}
	t.onStatus(task)
}

// PollOf returns the interval at which the server of an extension task wants to be polled. It is
// between MinPoll and MaxPoll; the default is DefaultPoll.
func PollOf(task jsontext.Value) time.Duration { return pace(task, Extension, DefaultPoll) }

// RetentionOf returns the least time for which a server keeps an extension task, at most MaxTTL. It
// returns MaxTTL if the server names no time.
func RetentionOf(task jsontext.Value) time.Duration {
	if ttl, ok := duration(task, names[Extension].ttl); ok {
		return ttl
	}
	return MaxTTL
}

// pace returns the server's poll interval within the bounds, or otherwise if the server names none.
func pace(task jsontext.Value, d Dialect, otherwise time.Duration) time.Duration {
	if poll, ok := duration(task, names[d].poll); ok {
		return max(MinPoll, min(poll, MaxPoll))
	}
	return otherwise
}

// pace stores the server's poll interval.
func (t *Task) pace(task jsontext.Value) {
	t.poll = pace(task, t.o.ServerDialect, t.poll)
}

// polled handles the answer to tasks/get.
func (t *Task) polled(in Event) {
	if in.Err != nil {
		e := serverError(in.Err)
		if t.misses++; t.misses >= MaxMisses || e != nil && e.Code == jsonrpc.CodeInvalidParams {
			t.stop()
			// The server created the task, and may have been replaced since.
			err := protocol.UpstreamLost(t.o.Name, true, in.Err)
			t.message = err.Message
			t.finish(nil, err)
			return
		}
		t.due = t.now.Add(t.poll)
		return
	}
	t.misses = 0
	t.storeAnswer(in.Result, in.Result)
	t.pace(in.Result)
	t.onStatus(in.Result)
}

// onStatus handles the server's state of the task. A core server sends its questions and the
// outcome while tasks/result is open.
func (t *Task) onStatus(task jsontext.Value) {
	if message, _ := jsonedit.GetString(task, "statusMessage"); message != t.message {
		t.message, t.updated = message, t.now
		if status, _ := jsonedit.GetString(task, "status"); t.passes() && t.creator == 0 &&
			Status(status) == t.status {
			t.do(Effect{Do: Tell}) // as the server reported it
		}
	}
	text, _ := jsonedit.GetString(task, "status")
	switch s := Status(text); {
	case s == Cancelled:
		t.end(Cancelled)
		return
	case t.o.ServerDialect == Core && s != Working:
		if t.resultCall == 0 {
			t.resultCall = t.call("tasks/result", t.about())
		}
		if s.Final() {
			return
		}
	case s == InputRequired:
		t.onInputRequests(task)
	case s == Completed:
		result, _ := jsonedit.Get(task, "result")
		t.finish(result.Clone(), nil)
		return
	case s == Failed:
		failure, _ := jsonedit.Get(task, "error")
		t.finish(nil, taskError(failure))
		return
	}
	if !t.status.Final() {
		t.due = t.now.Add(t.poll)
	}
}

// taskError returns the error in a failed task.
func taskError(failure jsontext.Value) error {
	e := &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "the task failed"}
	if code, _ := jsonedit.Get(failure, "code"); code.Kind() == '0' {
		if n, err := strconv.ParseInt(string(code), 10, 64); err == nil {
			e.Code = n
		}
	}
	if message, ok := jsonedit.GetString(failure, "message"); ok {
		e.Message = message
	}
	if data, ok := jsonedit.Get(failure, "data"); ok {
		e.Data = data.Clone()
	}
	return e
}

// required handles a round of questions that precedes the task.
func (t *Task) required(result jsontext.Value) {
	r, err := mrtr.Parse(result)
	if t.steps++; err == nil && t.steps > MaxSteps {
		err = errors.New("the server asks too often")
	}
	if err == nil && len(r.Inputs) == 0 {
		err = errors.New("the server asks nothing and wants to be called again")
	}
	if err != nil {
		t.finish(nil, protocol.InternalError(err))
		return
	}
	t.state, t.round = r.State.Clone(), nil
	for _, in := range r.Inputs {
		t.addQuestion(in, true)
	}
	t.sendQuestions()
}

// onInputRequests handles the questions of an extension task. A key identifies one question for the
// whole life of the task.
func (t *Task) onInputRequests(task jsontext.Value) {
	requests, _ := jsonedit.Get(task, "inputRequests")
	required, err := jsonedit.Set(jsontext.Value(`{}`), requests, "inputRequests")
	if err != nil {
		return
	}
	r, err := mrtr.Parse(required)
	if err != nil {
		t.stop()
		t.finish(nil, protocol.InternalError(err))
		return
	}
	for _, in := range r.Inputs {
		if !t.seen[in.Key] {
			t.seen[in.Key] = true
			t.addQuestion(in, false)
		}
	}
	t.sendQuestions()
}

// translateResult translates a result of the tool to the client's revision.
func (t *Task) translateResult(result jsontext.Value) (jsontext.Value, error) {
	result = withoutTaskID(result.Clone())
	if t.o.Server.Has(protocol.ResultType) && len(result) > 0 {
		result, _ = jsonedit.Set(result, complete, "resultType")
	}
	said, err := rewrite.Result("tools/call", t.o.Server, t.o.Client, result, rewrite.Options{})
	switch {
	case err != nil:
		return nil, fmt.Errorf("the server's result: %w", err)
	case t.o.Rewrite != nil:
		said = t.o.Rewrite(said)
	}
	return said, nil
}
