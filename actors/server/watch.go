package server

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/task"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/seal"
	"mcpd/protocol/splice"
	"mcpd/protocol/subscription"
	"mcpd/protocol/tasks"
)

// A client that listens to a task hears how it is whenever that changes. A task that the host keeps says so itself; that of a modern
// server is asked for at the pace which it wishes, because servers need not announce anything (SEP-2663).

// taskWatch is a task of a modern server to which somebody listens.
type taskWatch struct {
	l      *listen
	id     string         // as the client knows it
	server string         // that has it
	own    jsontext.Value // by which that knows it
	last   jsontext.Value // how it was
	misses int
}

type pollDue struct{ w *taskWatch }

// watchTask begins to watch a task for a listen, and reports whether there is one of that id.
func (s *Session) watchTask(l *listen, id string) bool {
	state, err := s.o.Held.Ring.Open(s.p.Now(), s.taskOwner(), id)
	if err != nil {
		return false
	}
	if state.Kind == seal.Kept {
		_, ref, ok := s.keptTask(state)
		return ok && s.p.Send(ref, task.Watch{Session: s.h.Row(), By: s.h}) == nil
	}
	if !s.ownTask(state) {
		return false
	}
	w := &taskWatch{l: l, id: id, server: state.Instance, own: state.Upstream}
	s.p.After(tasks.MinPoll, pollDue{w})
	return true
}

// pollTask asks how a task is, while somebody listens.
func (s *Session) pollTask(w *taskWatch) {
	if s.listens[w.l.d.Out] == w.l {
		params, _ := splice.Set(nil, w.own, "taskId") // an empty value becomes an object
		s.inquire(w.server, "tasks/get", params, w)
	}
}

// polledTask tells what is new, and asks again later unless that was the last to be said.
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
	now := splice.Without(m.result, "resultType", "_meta", "taskId")
	now, _ = splice.Set(now, splice.Quote(w.id), "taskId")
	if !bytes.Equal(now, w.last) {
		w.last = now.Clone()
		s.announceTask(w.id, now)
	}
	if status, _ := splice.GetString(now, "status"); !tasks.Status(status).Final() {
		s.p.After(tasks.PollOf(now), pollDue{w})
	}
}

// announceTask tells everybody who listens to a task how it is.
func (s *Session) announceTask(id string, params jsontext.Value) {
	s.p.Check()
	for l := range s.listening() {
		if !l.d.Acknowledged() || !slices.Contains(l.granted.Tasks, id) {
			continue
		}
		if l.d.Out.Send(jsonrpc.Notification("notifications/tasks", subscription.Tag(params, l.d.Message.ID))) != nil {
			s.unlisten(l)
		}
	}
}
