package tasks

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// MaxSaved bounds the result, or the error data, that is saved with a task, in bytes: 64 KiB. A
// tenant may have a thousand tasks.
const MaxSaved = 64 << 10

// Saved is the state from which another host process can continue a task. Client and Server are
// revisions. Open questions are not saved, because the requests that carry them end with the host
// process.
type Saved struct {
	ID      string    `json:"id"`
	Down    Dialect   `json:"down"`
	Up      Dialect   `json:"up"`
	Client  string    `json:"client"`
	Server  string    `json:"server"`
	Cancels bool      `json:"cancels,omitzero"`
	Status  Status    `json:"status"`
	Message string    `json:"message,omitzero"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	TTL     int64     `json:"ttl_ns"`
	Poll    int64     `json:"poll_ns"`
	// Made is the creation time in the server's spelling; empty for Created.
	Made   jsontext.Value `json:"made,omitzero"`
	Asked  [4]int         `json:"asked"` // number of questions of each kind, for unique keys
	Own    jsontext.Value `json:"own,omitzero"`
	Result jsontext.Value `json:"result,omitzero"`
	Error  *SavedError    `json:"error,omitzero"`
	// Size is the size in bytes of an outcome that exceeds MaxSaved and was not saved.
	Size int `json:"size,omitzero"`
}

// SavedError is the error of a failed task, as the client receives it.
type SavedError struct {
	Code    int64          `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data,omitzero"`
}

// Unsaved reports whether the client knows the task and the task has changed since the last Save.
func (t *Task) Unsaved() bool {
	return t.unsaved && t.creator == 0 && t.o.ClientDialect != None && !t.forgotten
}

// Save returns the state to store, in case the host is killed.
func (t *Task) Save() Saved {
	t.unsaved = false
	s := Saved{
		ID: t.o.ID, Down: t.o.ClientDialect, Up: t.o.ServerDialect, Client: t.o.Client.String(),
		Server:  t.o.Server.String(),
		Cancels: t.o.Cancels,
		Status:  t.status, Message: t.message, Created: t.created, Updated: t.updated, TTL: int64(t.ttl),
		Poll: int64(t.poll), Asked: t.kinds, Own: t.upstreamID,
		Made: t.upstream.made,
	}
	switch {
	case !t.status.Final() || t.status == Cancelled:
	case t.err != nil:
		e := protocol.Translate(t.err, t.o.Client)
		s.Error = &SavedError{e.Code, e.Message, e.Data}
		if size := len(e.Message) + len(e.Data); size > MaxSaved {
			s.Error, s.Size = nil, size
		}
	case len(t.result) > MaxSaved:
		s.Size = len(t.result)
	default:
		s.Result = t.result
	}
	return s
}

var errNoTask = errors.New("not a task that can be continued")

// Load returns a saved task in a new host process. The first event of the task must be Resume. Name
// and rewrite are as in Options. Load returns an error if s is not a valid task.
func Load(s Saved, name string, rewrite func(jsontext.Value) jsontext.Value) (*Task, error) {
	o := Options{
		ID: s.ID, Name: name, ClientDialect: s.Down, ServerDialect: s.Up, TTL: time.Duration(s.TTL),
		Cancels: s.Cancels,
		Rewrite: rewrite,
	}
	var known [2]bool
	o.Client, known[0] = protocol.ParseVersion(s.Client)
	o.Server, known[1] = protocol.ParseVersion(s.Server)
	switch {
	case s.ID == "" || !known[0] || !known[1] || !o.ClientDialect.in(o.Client) ||
		!o.ServerDialect.in(o.Server):
		return nil, errNoTask
	case o.TTL <= 0 || o.TTL > MaxTTL || s.Created.IsZero() || s.Updated.Before(s.Created):
		return nil, errNoTask
	case len(s.Made) > 0 && (s.Made.Kind() != '"' || len(s.Made) > maxTime):
		return nil, errNoTask
	case len(s.Own) > 0 && s.Own.Kind() != '"' || len(s.Result) > 0 && s.Result.Kind() != '{':
		return nil, errNoTask
	}
	t := New(s.Created, o)
	t.status, t.message, t.updated, t.kinds, t.upstreamID = s.Status, s.Message, s.Updated,
		s.Asked, s.Own
	t.poll = max(MinPoll, min(time.Duration(s.Poll), MaxPoll))
	t.upstream.made = s.Made
	switch {
	case s.Status == Working || s.Status == InputRequired || s.Status == Cancelled:
		return t, nil
	case s.Status != Completed && s.Status != Failed:
		return nil, errNoTask
	case s.Error != nil:
		t.err = &jsonrpc.Error{Code: s.Error.Code, Message: s.Error.Message, Data: s.Error.Data}
	case len(s.Result) > 0:
		t.result = s.Result
	case s.Size > 0:
		t.lost(s.Size)
	default:
		return nil, errNoTask
	}
	return t, nil
}

// in reports whether a revision has the dialect.
func (d Dialect) in(v protocol.Version) bool {
	return d == Core && v.Has(protocol.Tasks) || d == Extension && v.Has(protocol.TasksExtension)
}

// lost handles a task whose outcome was too large to save. The status becomes Failed in the
// extension, where a completed task must contain its result.
func (t *Task) lost(size int) {
	message := fmt.Sprintf(
		"the task ended as %s, but its outcome of %d bytes is more than the %d that are kept when the "+
			"host is restarted", t.status, size, MaxSaved,
	)
	t.err = &protocol.Error{
		Condition: protocol.ConditionInternal, Message: message,
		Data: jsontext.Value(`{"maybeExecuted":true,"retryable":false}`),
	}
	if t.message = message; t.o.ClientDialect == Extension {
		t.status = Failed
	}
}

// resume continues a task in a new host process. A task whose work was done by the old host
// process, or by a server that ended together with that process, fails. Any other task is polled at
// its server.
func (t *Task) resume(lives bool) {
	t.unsaved = true
	switch {
	case t.status.Final():
		t.unsaved = false
	case lives && len(t.upstreamID) > 0:
		t.updateStatus()
		t.pollCall = t.call("tasks/get", t.about())
	default:
		err := protocol.Restarted()
		t.message = err.Message
		t.finish(nil, err)
	}
}
