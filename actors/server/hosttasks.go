package server

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/request"
	"mcpd/actors/session"
	"mcpd/actors/task"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/rewrite"
	"mcpd/protocol/seal"
	"mcpd/protocol/tasks"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// The host keeps a task itself when the task dialect of the client differs from that of its server.
// An actor follows the task at the server, and acts as the server towards this session
// ([task.Task]).

// taskStarted is the result of starting the actor of a task.
type taskStarted struct {
	o   *outgoing
	ref otp.Ref
	err error
}

// supportsTasks reports whether the client can follow tasks of the extension.
func (s *Session) supportsTasks() bool {
	return s.record.Version.Has(protocol.TasksExtension) &&
		s.record.Capabilities.Has(tasks.ExtensionCapability)
}

// asksForTask reports whether a request asks for a task, and the host offered tasks. Several
// clients write null for a member that they leave out.
func (s *Session) asksForTask(m jsonrpc.Message) bool {
	if !m.MayHave("task") {
		return false
	}
	intent, asks := jsonedit.Get(m.Elided(), "task")
	return asks && intent.Kind() != 'n' && s.record.Version.Has(protocol.Tasks) &&
		s.record.Offered.Has("tasks.requests.tools.call")
}

// asTask makes a task of a call if the call needs one. It returns true if it has taken the request.
func (s *Session) asTask(o *outgoing) (taken bool) {
	m := o.d.Message
	if o.internal || m.Method != "tools/call" {
		return false
	}
	if s.view == nil { // a view is needed for the tool's task support
		if s.modern() && !s.supportsTasks() {
			return false
		}
		s.fresh(o)
		return true
	}
	name := o.name
	if name == "" { // a transparent endpoint has one server
		name, _ = jsonedit.GetString(o.params, "name")
	}
	up, facts := s.view.Dialect(o.server)
	plan, err := tasks.Decide(
		tasks.Caller{
			Version: s.record.Version, RequestedTask: s.asksForTask(m), HasExtension: s.supportsTasks(),
		},
		up,
		s.view.Support(o.server, name),
	)
	switch {
	case o.needsTask:
		plan = tasks.Await
	case err != nil:
		s.refuse(o.d, err)
		return true
	}
	switch {
	case plan == tasks.Await:
		s.startTask(o, tasks.None, up, facts.Version, facts.Capabilities)
	case plan == tasks.Keep && s.modern():
		s.startTask(o, tasks.Extension, up, facts.Version, facts.Capabilities)
	case plan == tasks.Keep:
		s.startTask(o, tasks.Core, up, facts.Version, facts.Capabilities)
	default:
		o.mayNeedTask = up == tasks.Extension && !s.modern()
		return false
	}
	return true
}

// forward sends a request to the one server of a transparent endpoint.
func (s *Session) forward(d *session.Deliver) {
	o := &outgoing{d: d, server: s.handle.Endpoint().Server, params: d.Message.Params}
	if view := s.view; view != nil && d.Message.Method == "tools/list" &&
		s.record.Version.Has(protocol.ToolExecution) {
		o.rewrite = view.Tasked(o.server)
	}
	s.toServer(o)
}

// startTask starts the actor of a task. The call is sent to the actor once it runs.
func (s *Session) startTask(
	o *outgoing,
	down, up tasks.Dialect,
	server protocol.Version,
	offered protocol.ServerCapabilities,
) {
	if down != tasks.None {
		if full := s.options.Account.CheckBeginEvicting(s.options.TaskIndex.Spare); full != nil {
			s.refuse(o.d, full.ClientError())
			return
		}
	}
	handle := task.NewHandle(s.options.Random)
	ttl, err := tasks.DefaultTTL, error(nil)
	if s.asksForTask(o.d.Message) {
		intent, _ := jsonedit.Get(o.d.Message.Params, "task")
		ttl, err = tasks.TTLOf(intent)
	}
	if err != nil {
		s.refuse(o.d, err)
		return
	}
	good := ttl
	if down == tasks.Core && up == tasks.Core { // the server decides how long the task is kept
		good = tasks.MaxTTL
	}
	id, err := s.options.Held.Ring.Seal(s.taskOwner(), seal.State{
		Kind: seal.HostTask, Handle: handle, Round: uint32(down),
		Upstream: jsonedit.Quote(o.server), Expiry: s.p.Now().Add(good),
	})
	if err != nil {
		s.refuse(o.d, protocol.InternalError(err))
		return
	}
	params := o.params
	if down != tasks.Core || up != tasks.Core {
		params, _ = jsonedit.Delete(params, "task")
	}
	// the host reports no progress of a task
	params, _ = jsonedit.Delete(params, "_meta", "progressToken")
	if params, err = rewrite.Request("tools/call", s.record.Version, server, params); err != nil {
		s.refuse(o.d, protocol.InternalError(err))
		return
	}
	caller := s.caller()
	if up == tasks.Extension {
		caller.Capabilities = caller.Capabilities.With(tasks.ExtensionCapability, jsontext.Value("{}"))
		s.withhold(&caller)
	}
	args := task.Args{
		Row: task.Row(handle), Server: o.server, Caller: caller, Owner: s.handle,
		Task: tasks.Options{
			ID: id, Name: o.server, ClientDialect: down, ServerDialect: up, Client: s.record.Version,
			Server: server,
			Params: params, TTL: ttl,
			Cancels: up == tasks.Extension || offered.Has("tasks.cancel"), Rewrite: s.rename(o),
		},
	}
	if s.handle.Persistent() {
		args.Session = s.handle.ID()
	}
	s.waiting.add(o.d)
	call := o.onHeap()
	otp.StartChildArgsAsync(
		s.p,
		s.options.Tasks(),
		args.Row,
		args,
		func(ref otp.Ref, err error) any { return taskStarted{call, ref.Child(task.Child), err} },
	)
}

// taskStarted sends the call to the actor that makes a task of it.
func (s *Session) taskStarted(m taskStarted) {
	switch {
	case !s.waiting.has(m.o.d): // cancelled meanwhile
		if m.err == nil {
			_ = s.p.Send(m.ref, task.Drop{})
		}
	case m.err != nil:
		var refusal *protocol.Error
		if !errors.As(m.err, &refusal) {
			refusal = protocol.Overloaded("task table", time.Second)
		}
		s.refuse(m.o.d, refusal)
	default:
		s.submit(m.o, m.ref)
	}
}

// keptTask finds the actor of a task that the host keeps. The state is the contents of the task's
// id.
func (s *Session) keptTask(state seal.State) (server string, ref otp.Ref, ok bool) {
	down := tasks.Core
	if s.modern() {
		down = tasks.Extension
	}
	server, _ = jsonedit.Unquote(state.Upstream)
	if state.Round != uint32(down) || s.singleServer() && server != s.handle.Endpoint().Server {
		return "", otp.Ref{}, false
	}
	ref, ok = s.options.Task(task.Row(state.Handle))
	return server, ref, ok
}

// listTasks lists the tasks of the principal. They fit on one page.
func (s *Session) listTasks(d *session.Deliver) {
	if _, given := jsonedit.Get(d.Message.Params, "cursor"); given {
		s.refuse(d, protocol.StateInvalid("cursor"))
		return
	}
	ep := s.handle.Endpoint()
	list := jsontext.Value{'['}
	for i, o := range s.options.TaskIndex.List(ep.Principal, ep.Server) {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, o...)
	}
	result, _ := jsonedit.Set(nil, append(list, ']'), "tasks") // an empty value becomes an object
	s.answer(d, result)
}

// taskChanged tells the client the new state of a task that the host keeps. A legacy client is told
// if its session made the task, a modern client if it subscribed to it.
func (s *Session) taskChanged(m *task.Changed) {
	switch {
	case s.record == nil:
	case s.modern():
		s.announceTask(m.ID, m.Params)
	default:
		_ = s.push(jsonrpc.Notification("notifications/tasks/status", m.Params))
	}
}

// taskRetrySink is the sink of a legacy client's call to a server that may refuse clients without
// tasks. A refused call is repeated as a task that the host follows, and the client gets its final
// result (SEP-2663).
type taskRetrySink struct {
	transport.Sink
	h       *session.Handle
	o       *outgoing
	waiting *pendingRequests
	told    atomic.Bool
}

// Carries reports whether the sink forwards to out, the sink of the client's request.
func (i *taskRetrySink) Carries(out transport.Sink) bool { return i.Sink == out }

// Finish repeats a call that was refused for want of tasks. It forwards every other outcome.
func (i *taskRetrySink) Finish(m jsonrpc.Message) bool {
	if m.Error == nil || !tasks.RequiresTasks(m.Error.Code, m.Error.Data) ||
		!i.told.CompareAndSwap(false, true) {
		return i.Sink.Finish(m)
	}
	i.waiting.add(i.o.d)
	if i.h.Send(&taskRequired{i.o, m, i.waiting}) != nil {
		i.waiting.remove(i.o.d)
		return i.Sink.Finish(m)
	}
	return true
}

// taskRequired says that a call was refused because the server wants to make a task of it.
type taskRequired struct {
	o  *outgoing
	m  jsonrpc.Message
	at *pendingRequests // of the incarnation that made the call, which may have been replaced
}

// Class returns otp.Reserved (reserved): there is one such message for each call.
func (*taskRequired) Class() otp.Class { return otp.Reserved }

// Fail gives the client the answer of its server.
func (m *taskRequired) Fail(error) { m.o.d.Out.Finish(m.m) }

// taskRequired repeats the call.
func (s *Session) taskRequired(m *taskRequired) {
	if s.record == nil || m.at == s.waiting && !s.waiting.has(m.o.d) {
		return
	}
	m.o.needsTask, m.o.mayNeedTask = true, false
	s.toServer(m.o)
}

// forTask extends the timeout of a request that waits for the end of a task.
func forTask(x *request.Exchange, o *outgoing) {
	if x.Method == "tasks/result" || o.needsTask {
		x.Timeout, x.MaxTimeout = tasks.MaxTTL, tasks.MaxTTL
	}
}
