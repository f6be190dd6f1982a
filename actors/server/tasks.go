package server

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/session"
	merge "mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/seal"
)

// TaskIDTTL is how long the id of a task is valid. A server may forget the task sooner, and says so
// then.
const TaskIDTTL = 24 * time.Hour

// A task of the extension lives at its server. The client sees its id in sealed form: the sealed id
// names the server, and is useless to another principal (SEP-2663, "ids may be the only guard").

// taskOwner is what the id of a task is bound to.
func (s *Session) taskOwner() seal.Binding {
	ep := s.handle.Endpoint()
	return seal.Binding{Tenant: ep.Tenant, Principal: ep.Principal, Method: "tasks"}
}

// sealTask returns the function that replaces the server's task id in a result by the sealed id for
// the client.
func (s *Session) sealTask(server string) func(jsontext.Value) jsontext.Value {
	owner, ring, p := s.taskOwner(), s.options.Held.Ring, s.p
	return func(result jsontext.Value) jsontext.Value {
		own, ok := jsonedit.Get(result, "taskId")
		if !ok {
			return result
		}
		id, err := ring.Seal(
			owner,
			seal.State{
				Kind:     seal.Task,
				Instance: server,
				Upstream: own,
				Expiry:   p.Now().Add(TaskIDTTL),
			},
		)
		if err != nil {
			return result
		}
		result, _ = jsonedit.Set(result, jsonedit.Quote(id), "taskId") // a result is an object
		return result
	}
}

// ownTask reports whether a state is that of a task for which the server and this client use the
// same dialect.
func (s *Session) ownTask(state seal.State) bool {
	return state.Kind == seal.Task && s.modern() &&
		(!s.singleServer() || state.Instance == s.handle.Endpoint().Server)
}

// task sends a request about a task to the server that has the task. The answer names the task as
// the client did.
func (s *Session) task(d *session.Deliver) {
	raw, _ := jsonedit.Get(d.Message.Params, "taskId")
	id, ok := jsonedit.Unquote(raw)
	if !ok {
		s.refuse(d, protocol.InvalidParams("params.taskId is missing or not a string"))
		return
	}
	state, err := s.options.Held.Ring.Open(s.p.Now(), s.taskOwner(), id)
	if err == nil && state.Kind == seal.HostTask {
		if server, ref, ok := s.keptTask(state); ok {
			s.submit(&outgoing{d: d, server: server, params: d.Message.Params}, ref)
			return
		}
	}
	if err != nil || !s.ownTask(state) {
		s.refuse(d, protocol.StateInvalid("taskId"))
		return
	}
	params, _ := jsonedit.Set(d.Message.Params, state.Upstream, "taskId") // the member exists
	addresses, alone := s.router(), s.singleServer()
	s.toServer(
		&outgoing{
			d:      d,
			server: state.Instance,
			params: params,
			rewrite: func(result jsontext.Value) jsontext.Value {
				if !alone {
					result = addresses.Result(
						merge.AnswerContext{Server: state.Instance, Method: "tasks/get"},
						result,
					)
				}
				if _, named := jsonedit.Get(result, "taskId"); named {
					result, _ = jsonedit.Set(result, raw, "taskId")
				}
				return result
			},
		},
	)
}

// isTask reports whether a result says that the call became a task.
func isTask(result jsontext.Value) bool { return mrtr.TypeOf(result) == mrtr.Task }
