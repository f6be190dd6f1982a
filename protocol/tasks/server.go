package tasks

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/rewrite"
	"mcpd/protocol/splice"
)

// answered takes the server's answer to one of our requests.
func (t *Task) answered(in Event) {
	if i := slices.Index(t.told, in.Number); i >= 0 {
		if t.told = slices.Delete(t.told, i, i+1); t.status.Final() {
			t.release()
		}
		return
	}
	switch {
	case t.status.Final():
	case in.Number == t.calling:
		t.calling = 0
		t.called(in)
	case in.Number == t.polling:
		t.polling = 0
		t.polled(in)
	case in.Number == t.getting:
		t.getting = 0
		t.finish(in.Result, in.Err)
	}
}

// called takes the answer to tools/call: a task, a question, or the outcome at once.
func (t *Task) called(in Event) {
	if in.Err != nil {
		t.finish(nil, in.Err)
		return
	}
	task, content := jsontext.Value(nil), false
	switch t.o.Up {
	case Core:
		task, _ = splice.Get(in.Result, "task")
		_, content = splice.Get(in.Result, "content")
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
	own, _ := splice.Get(task, "taskId")
	if own.Kind() != '"' {
		t.finish(nil, errors.New("the server made a task without an id"))
		return
	}
	t.own, t.unsaved = own.Clone(), true
	of := names[t.o.Up]
	if ttl, ok := duration(task, of.ttl); ok && t.passes() {
		t.ttl = min(MaxTTL, t.now.Sub(t.created)+ttl)
	} else if ok {
		t.ttl = min(t.ttl, t.now.Sub(t.created)+ttl)
	}
	t.hear(in.Result, task)
	t.pace(task)
	t.create()
	if status, _ := splice.GetString(task, "status"); t.o.Up == Extension && Status(status) != Working {
		t.polling = t.call("tasks/get", t.about()) // what belongs to the status is told to who asks for it (SEP-2663)
		return
	}
	t.doing(task)
}

// PollOf is how often the server of a task of the extension wants to be asked, within the bounds.
func PollOf(task jsontext.Value) time.Duration { return pace(task, Extension, DefaultPoll) }

// KeptFor is how long a server keeps a task of the extension at least, as far as it says.
func KeptFor(task jsontext.Value) time.Duration {
	if ttl, ok := duration(task, names[Extension].ttl); ok {
		return ttl
	}
	return MaxTTL
}

func pace(task jsontext.Value, d Dialect, otherwise time.Duration) time.Duration {
	if poll, ok := duration(task, names[d].poll); ok {
		return max(MinPoll, min(poll, MaxPoll))
	}
	return otherwise
}

// pace takes how often the server wants to be asked.
func (t *Task) pace(task jsontext.Value) {
	t.poll = pace(task, t.o.Up, t.poll)
}

// polled takes how the server says that the task is doing.
func (t *Task) polled(in Event) {
	if in.Err != nil {
		e := refusal(in.Err)
		if t.misses++; t.misses >= MaxMisses || e != nil && e.Code == jsonrpc.CodeInvalidParams {
			t.stop()
			err := protocol.UpstreamLost(t.o.Name, true, in.Err) // it made the task, and may be another by now
			t.message = err.Message
			t.finish(nil, err)
			return
		}
		t.due = t.now.Add(t.poll)
		return
	}
	t.misses = 0
	t.hear(in.Result, in.Result)
	t.pace(in.Result)
	t.doing(in.Result)
}

// doing takes the server's view of the task. A server of the core asks its questions, and gives the outcome, while tasks/result is open.
func (t *Task) doing(task jsontext.Value) {
	if message, _ := splice.GetString(task, "statusMessage"); message != t.message {
		t.message, t.updated = message, t.now
		if status, _ := splice.GetString(task, "status"); t.passes() && t.creator == 0 && Status(status) == t.status {
			t.do(Effect{Do: Tell}) // as the server told it
		}
	}
	text, _ := splice.GetString(task, "status")
	switch s := Status(text); {
	case s == Cancelled:
		t.end(Cancelled)
		return
	case t.o.Up == Core && s != Working:
		if t.getting == 0 {
			t.getting = t.call("tasks/result", t.about())
		}
		if s.Final() {
			return
		}
	case s == InputRequired:
		t.wanted(task)
	case s == Completed:
		result, _ := splice.Get(task, "result")
		t.finish(result.Clone(), nil)
		return
	case s == Failed:
		failure, _ := splice.Get(task, "error")
		t.finish(nil, broken(failure))
		return
	}
	if !t.status.Final() {
		t.due = t.now.Add(t.poll)
	}
}

// broken is the error in a task that failed.
func broken(failure jsontext.Value) error {
	e := &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "the task failed"}
	if code, _ := splice.Get(failure, "code"); code.Kind() == '0' {
		if n, err := strconv.ParseInt(string(code), 10, 64); err == nil {
			e.Code = n
		}
	}
	if message, ok := splice.GetString(failure, "message"); ok {
		e.Message = message
	}
	if data, ok := splice.Get(failure, "data"); ok {
		e.Data = data.Clone()
	}
	return e
}

// required takes a round of questions that the server wants answered before it goes on.
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
		t.take(in, true)
	}
	t.put()
}

// wanted takes the questions of a task of the extension. Each key is one question for as long as the task lasts.
func (t *Task) wanted(task jsontext.Value) {
	requests, _ := splice.Get(task, "inputRequests")
	required, err := splice.Set(jsontext.Value(`{}`), requests, "inputRequests")
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
			t.take(in, false)
		}
	}
	t.put()
}

// said is a result of the tool in the client's words.
func (t *Task) said(result jsontext.Value) (jsontext.Value, error) {
	result = unrelated(result.Clone())
	if t.o.Server.Has(protocol.ResultType) && len(result) > 0 {
		result, _ = splice.Set(result, complete, "resultType")
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
