package server

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/task"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/seal"
	"mcpd/protocol/subscription"
	"mcpd/protocol/tasks"
)

// A client that subscribes to a task is told of the changes of its state. The actor of a task that
// the host keeps announces changes itself. A task of a modern server is polled, at the interval
// that the server wishes, because servers need not announce anything (SEP-2663).

// taskWatch is a subscription to a task of a modern server.
type taskWatch struct {
	l      *listen
	id     string         // the client's id of the task
	server string         // server that has the task
	own    jsontext.Value // the server's id of the task
	last   jsontext.Value // last known state
	misses int
}

type pollDue struct{ w *taskWatch }

// watchTask begins to watch a task for a subscription. It returns false if there is no task with
// that id.
func (s *Session) watchTask(l *listen, id string) bool {
	state, err := s.options.Held.Ring.Open(s.p.Now(), s.taskOwner(), id)
	if err != nil {
		return false
	}
	if state.Kind == seal.HostTask {
		_, ref, ok := s.keptTask(state)
		return ok && s.p.Send(ref, task.Watch{Session: s.handle.Row(), By: s.handle}) == nil
	}
	if !s.ownTask(state) {
		return false
	}
	w := &taskWatch{l: l, id: id, server: state.Instance, own: state.Upstream}
	s.p.After(tasks.MinPoll, pollDue{w})
	return true
}

// pollTask asks the server for the state of a task, while the subscription is open.
func (s *Session) pollTask(w *taskWatch) {
	if s.listens[w.l.d.Out] == w.l {
		params, _ := jsonedit.Set(nil, w.own, "taskId") // an empty value becomes an object
		s.inquire(w.server, "tasks/get", params, w)
	}
}

// polledTask sends a changed state to the client, and schedules the next poll unless the state is
// final.
func (s *Session) polledTask(w *taskWatch, m inquired) {
	if s.listens[w.l.d.Out] != w.l {
		return
	}
	if m.err != nil {
		if w.misses++; w.misses < tasks.MaxMisses && m.err.Code != jsonrpc.CodeInvalidParams {
			s.p.After(tasks.DefaultPoll, pollDue{w})
		}
		return
	}
	w.misses = 0
	now := jsonedit.Without(m.result, "resultType", "_meta", "taskId")
	now, _ = jsonedit.Set(now, jsonedit.Quote(w.id), "taskId")
	if !bytes.Equal(now, w.last) {
		w.last = now.Clone()
		s.announceTask(w.id, now)
	}
	if status, _ := jsonedit.GetString(now, "status"); !tasks.Status(status).Final() {
		s.p.After(tasks.PollOf(now), pollDue{w})
	}
}

// announceTask sends the state of a task on every subscription to it.
func (s *Session) announceTask(id string, params jsontext.Value) {
	s.p.Check()
	for l := range s.listening() {
		if !l.d.Acknowledged() || !slices.Contains(l.granted.Tasks, id) {
			continue
		}
		if l.d.Out.Send(jsonrpc.Notification("notifications/tasks",
			subscription.Tag(params, l.d.Message.ID))) != nil {
			s.unlisten(l)
		}
	}
}
