package task

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/catalog"
	"mcpd/actors/request"
	"mcpd/actors/storage"
	merge "mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/tasks"
	"mcpd/store"
	"mcpd/supervisor/otp"
)

// saved is a task in the store: its principal, its server and its state.
type saved struct {
	Server       string         `json:"server"`
	Home         string         `json:"home,omitzero"` // where the server outlives the host
	Session      string         `json:"session,omitzero"`
	Principal    string         `json:"principal,omitzero"`
	Endpoint     string         `json:"endpoint,omitzero"` // the server, of a transparent endpoint
	Modern       bool           `json:"modern,omitzero"`
	Capabilities jsontext.Value `json:"capabilities,omitzero"`
	Client       jsontext.Value `json:"client"`
	Task         tasks.Saved    `json:"task"`
}

// written says that the task is stored, or that storing it failed or took too long.
type written struct{}

// lasts reports whether tasks are stored.
func (e *carriedState) lasts() bool { return e.o.Storage != (otp.Ref{}) }

// promise sends the response to the call that made the task after the task is stored, so that its
// client can come back to a host that was killed. A disk slower than WriteWait is not waited for.
func (t *Task) promise(e tasks.Effect) {
	t.promised = &e
	t.p.After(storage.WriteWait, written{})
	otp.CallAsync(t.p, t.o.Storage, storage.PutRequest{Tenant: t.o.Tenant, Change: t.change()},
		func(struct{}, error) any {
			return written{}
		})
}

func (t *Task) written() {
	e := t.promised
	if t.promised = nil; e == nil {
		return
	}
	if x := t.take(e.Request); x != nil {
		complete(x, *e)
	}
}

// change returns the change that stores the task.
func (t *Task) change() store.Change {
	c := t.a.Caller
	value, err := json.Marshal(saved{
		Server: t.a.Server, Home: t.o.Home(t.a.Server), Session: t.a.Session, Principal: c.Principal,
		Endpoint: c.Server, Modern: c.Modern,
		Capabilities: c.Visible().Raw(), Client: c.Info.Raw(), Task: t.task.Save(),
	}, json.Deterministic(true))
	if err != nil {
		panic(err) // all raw values in it were parsed before
	}
	return store.Change{Bucket: store.Tasks(t.o.Tenant), Key: t.a.Row, Value: value}
}

// Terminate deletes the stored record of a task that is over. After a shutdown the next host
// continues the task, and after a crash the next incarnation.
func (t *Task) Terminate(_ *otp.Process, reason error) {
	if errors.Is(reason, otp.Normal) {
		t.unwrite()
	}
}

var errRow = errors.New("not the name of a task")

// load turns a stored task into the arguments with which this host starts it.
func load(o *Options, row string, value jsontext.Value) (a Args, err error) {
	if !isRow(row) {
		return a, errRow
	}
	var s saved
	if err := json.Unmarshal(value, &s); err != nil {
		return a, err
	}
	if s.Server == "" || s.Endpoint != "" && s.Endpoint != s.Server {
		return a, errors.New("a task without a server of its client's")
	}
	var rewrite func(jsontext.Value) jsontext.Value
	// Links of this form lead to the server, whatever else is listed.
	if s.Endpoint == "" {
		rewrite = func(result jsontext.Value) jsontext.Value {
			return new(merge.Router).Result(merge.AnswerContext{Server: s.Server, Method: "tools/call"},
				result)
		}
	}
	task, err := tasks.Load(s.Task, s.Server, rewrite)
	if err != nil {
		return a, err
	}
	caller := catalog.Caller{Principal: s.Principal, Modern: s.Modern, Server: s.Endpoint}
	var errs [2]error
	caller.Capabilities, errs[0] = protocol.ParseClientCapabilities(s.Capabilities)
	if s.Endpoint == "" {
		caller.Withheld = caller.Capabilities.Fingerprint() & protocol.OtherExtensions
	}
	caller.Info, errs[1] = protocol.ParseImplementation(s.Client)
	return Args{
		Row: row, Task: task.Options(), Server: s.Server, Caller: caller, Session: s.Session,
		Owner:  owner{o, s.Session},
		loaded: task, lives: s.Home != "" && s.Home == o.Home(s.Server),
	}, errors.Join(errs[:]...)
}

// owner is the session of an earlier host that made a task, if that session has come back.
type owner struct {
	o  *Options
	id string
}

var errGone = errors.New("the session is gone")

// Send forwards a message to the session.
func (w owner) Send(msg any) error {
	if s, ok := w.o.Session(w.id); ok {
		return s.Send(msg)
	}
	return errGone
}

var _ request.Owner = owner{}
