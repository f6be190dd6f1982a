package task

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"mcpd/actors/client"
	"mcpd/actors/request"
	"mcpd/actors/storage"
	"mcpd/internal/sortedmap"
	"mcpd/protocol"
	"mcpd/protocol/elicitation"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/tasks"
	"mcpd/store"
	"mcpd/supervisor/otp"
)

// carriedState is the carried state of the actor of a task: all that it knows.
type carriedState struct {
	o     *Options
	a     Args
	entry *Entry

	task    *tasks.Task
	conn    otp.Ref
	waiting []tasks.Effect                  // requests that wait for a connection
	sent    map[uint64]uint64               // at the server: our number of a request, its exchange
	puts    map[jsonrpc.ID]put              // open questions to the client
	asked   map[jsonrpc.ID]*client.Question // open questions of a legacy server
	// elicitations are the pages that clients were asked to visit and that are not complete.
	elicitations elicitation.Table[request.Owner]
	watchers     map[string]request.Owner // by session
	// promised is the response to the call, which waits until the task is stored.
	promised *tasks.Effect

	mu   sync.Mutex                   // guards open; a hanging actor is abandoned while it runs
	open map[uint64]*request.Exchange // the client's requests without outcome
}

// put is a question that was put to the client.
type put struct {
	number uint64
	on     *request.Exchange
}

func newCarriedState(o *Options, a Args) *carriedState {
	a.Caller.Session, a.Caller.Holds = "task-"+a.Row, true
	return &carriedState{
		o: o, a: a,
		entry: &Entry{Principal: a.Caller.Principal, Server: a.Server, Dialect: a.Task.ClientDialect},
		sent:  map[uint64]uint64{}, puts: map[jsonrpc.ID]put{}, asked: map[jsonrpc.ID]*client.Question{},
		watchers: map[string]request.Owner{},
		open:     map[uint64]*request.Exchange{},
	}
}

// goOn continues the task after a crash, in the state that the crash has left.
func (t *Task) goOn() error {
	known := tasks.OwnerState{
		Calls: slices.Sorted(maps.Keys(t.sent)),
		Asked: slices.SortedFunc(maps.Keys(t.asked), jsonrpc.ID.Compare),
	}
	for _, c := range t.waiting {
		known.Calls = append(known.Calls, c.Number)
	}
	for _, q := range sortedmap.SortedBy(t.puts, jsonrpc.ID.Compare) {
		known.Puts = append(known.Puts, q.number)
	}
	for id, x := range sortedmap.Sorted(t.open) {
		if x.Ended() { // its withdrawal may have crashed the last incarnation
			t.take(id)
		} else if t.promised == nil || t.promised.Request != id {
			known.Requests = append(known.Requests, id)
		}
	}
	if t.promised != nil {
		t.promise(*t.promised)
	}
	t.entry.show(t.task)
	if err := t.perform(t.task.Recover(t.p.Now(), known)); err != nil {
		return t.p.Post(Drop{})
	}
	if !t.task.Status().Final() { // its connection must know that the task runs
		t.dial()
	}
	return nil
}

func (e *carriedState) at(id uint64) *request.Exchange {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open[id]
}

func (e *carriedState) take(id uint64) *request.Exchange {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.open[id]
	delete(e.open, id)
	return x
}

// Abandon cleans up after an actor that is gone: its place in the index and the client's requests.
// If the actor was given up, it also deletes the stored task and cancels the requests in flight.
func (e *carriedState) Abandon(reason error) {
	e.o.Index.remove(e.entry)
	e.mu.Lock()
	open := maps.Clone(e.open)
	clear(e.open)
	e.mu.Unlock()
	for _, x := range sortedmap.Sorted(open) {
		if x != nil && x.Sink != nil {
			complete(x, tasks.Effect{Err: protocol.InternalError(reason)})
		}
	}
	if !errors.Is(reason, otp.ErrShutdown) || errors.Is(reason, otp.ErrIntensity) {
		_ = e.o.Requests.Send(request.NewCancelOwner(e.o.Requests, e.a.Caller.Session))
		e.unwrite()
	}
}

// unwrite deletes the stored task.
func (e *carriedState) unwrite() {
	if e.lasts() {
		_ = e.o.Storage.Send(&storage.Keep{
			Tenant: e.o.Tenant, Change: store.Change{Bucket: store.Tasks(e.o.Tenant), Key: e.a.Row},
		})
	}
}
