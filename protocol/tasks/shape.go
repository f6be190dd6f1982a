package tasks

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/mrtr"
)

// Status is the status of a task. Both dialects use the same words.
type Status string

// The statuses. The last three are final.
const (
	Working       Status = "working"
	InputRequired Status = "input_required"
	Completed     Status = "completed"
	Failed        Status = "failed"
	Cancelled     Status = "cancelled"
)

// Final reports whether the status never changes again.
func (s Status) Final() bool { return s == Completed || s == Failed || s == Cancelled }

// names gives the dialects' names of the same members.
var names = map[Dialect]struct{ ttl, poll string }{
	Core:      {"ttl", "pollInterval"},
	Extension: {"ttlMs", "pollIntervalMs"},
}

// Status is the status of the task as the client sees it.
func (t *Task) Status() Status { return t.status }

// Object returns the task in the client's revision, without its outcome.
func (t *Task) Object() jsontext.Value {
	of := names[t.o.ClientDialect]
	o := jsontext.Value("{}")
	// o is an object, so Set cannot fail.
	set := func(name string, value jsontext.Value) { o, _ = jsonedit.Set(o, value, name) }
	set("taskId", jsonedit.Quote(t.o.ID))
	set("status", jsonedit.Quote(string(t.status)))
	if t.message != "" {
		set("statusMessage", jsonedit.Quote(t.message))
	}
	made, updated := moment(t.created), moment(t.updated)
	ttl, poll := millis(t.ttl), millis(t.poll)
	if t.upstream.known {
		ttl, poll = t.upstream.ttl, t.upstream.poll
	}
	if len(t.upstream.made) > 0 {
		made = t.upstream.made
	}
	if len(t.upstream.updated) > 0 {
		updated = t.upstream.updated
	}
	set("createdAt", made)
	set("lastUpdatedAt", updated)
	set(of.ttl, ttl)
	if len(poll) > 0 {
		set(of.poll, poll)
	}
	return o
}

// Detail returns the task with the data of its status, as the extension requires.
func (t *Task) Detail() jsontext.Value {
	o := t.Object()
	set := func(name string, value jsontext.Value) { o, _ = jsonedit.Set(o, value, name) }
	switch {
	case t.status == InputRequired:
		var inputs []mrtr.Input
		for _, in := range t.inputs {
			inputs = append(inputs, mrtr.Embed(in.key, in.kind.Method(), in.params))
		}
		requests, _ := jsonedit.Get(mrtr.Required{Inputs: inputs}.Result(), "inputRequests")
		set("inputRequests", requests)
	case t.status == Completed:
		set("result", t.result)
	case t.status == Failed:
		e := protocol.Translate(t.err, t.o.Client)
		failure, _ := jsonedit.Set(nil, strconv.AppendInt(nil, e.Code, 10), "code")
		failure, _ = jsonedit.Set(failure, jsonedit.Quote(e.Message), "message")
		if len(e.Data) > 0 {
			failure, _ = jsonedit.Set(failure, e.Data, "data")
		}
		set("error", failure)
	}
	return o
}

// creation returns the answer to the client's tools/call.
func (t *Task) creation() jsontext.Value {
	if t.o.ClientDialect == Core {
		o, _ := jsonedit.Set(nil, t.Object(), "task")
		return t.withMeta(o)
	}
	o, _ := jsonedit.Set(t.Object(), jsontext.Value(`"task"`), "resultType")
	return o
}

var complete = jsontext.Value(`"complete"`)

// withTaskID marks a message as belonging to the task (2025-11-25 §basic/utilities/tasks, "Related
// Task Metadata").
func (t *Task) withTaskID(message jsontext.Value) jsontext.Value {
	id, _ := jsonedit.Set(nil, jsonedit.Quote(t.o.ID), "taskId")
	if changed, err := jsonedit.Set(message, id, "_meta", protocol.MetaRelatedTask); err == nil {
		return changed
	}
	return message
}

// withoutTaskID removes the server's id of the task from a message.
func withoutTaskID(message jsontext.Value) jsontext.Value {
	message, gone := jsonedit.Delete(message, "_meta", protocol.MetaRelatedTask)
	if meta, _ := jsonedit.Get(message, "_meta"); gone && jsonedit.Len(meta) == 0 &&
		string(meta) == "{}" {
		message, _ = jsonedit.Delete(message, "_meta")
	}
	return message
}

// moment formats a time as both dialects require (ISO 8601).
func moment(at time.Time) jsontext.Value {
	return jsonedit.Quote(at.UTC().Format("2006-01-02T15:04:05.000Z"))
}

func millis(d time.Duration) jsontext.Value { return strconv.AppendInt(nil, d.Milliseconds(), 10) }

// duration reads milliseconds. It returns false if the member is null, absent or not a number.
func duration(o jsontext.Value, name string) (time.Duration, bool) {
	raw, _ := jsonedit.Get(o, name)
	if raw.Kind() != '0' {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n < 0 {
		return 0, false
	}
	return time.Duration(min(n, float64(MaxTTL.Milliseconds()))) * time.Millisecond, true
}

// TTLOf returns the time for which a client wants a task to be kept, from params.task of its call.
// The default is DefaultTTL, the bound is MaxTTL. It returns a *protocol.Error if the params
// violate 2025-11-25 (TaskMetadata).
func TTLOf(task jsontext.Value) (time.Duration, error) {
	if task.Kind() != '{' {
		return 0, protocol.InvalidParams("params.task is not an object")
	}
	intent, given := jsonedit.Get(task, "ttl")
	switch ttl, ok := duration(task, "ttl"); {
	case !given || intent.Kind() == 'n' || ok && ttl == 0:
		return DefaultTTL, nil
	case !ok:
		return 0, protocol.InvalidParams("params.task.ttl is not a number of milliseconds")
	default:
		return ttl, nil
	}
}
