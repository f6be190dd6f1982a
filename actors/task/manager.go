package task

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/storage"
	"mcpd/protocol/tasks"
	"mcpd/store"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// RestoreTime bounds the start of all tasks that an earlier host has stored: a thousand take some
// milliseconds.
const RestoreTime = 5 * time.Second

// ManagerOptions configure the task manager of a tenant.
type ManagerOptions struct {
	Tasks *Options
	// Pool is the row below which the tasks live.
	Pool func() otp.Ref
	// Stored returns the stored tasks of the tenant, by row.
	Stored func() iter.Seq2[string, jsontext.Value]
	// Serves reports whether a principal may still use the endpoint.
	Serves func(principal, server string) bool
	Emit   telemetry.Sink
	// Records reads the stored tasks; nil sets no record aside.
	Records *storage.Restorer
}

// Manager is the behaviour of tenants/<t>/task_manager. It restores the tasks of an earlier host
// before there is a session that could ask for one.
type Manager struct {
	otp.Base
	o ManagerOptions
}

// NewManager makes one incarnation.
func NewManager(o ManagerOptions) *Manager { return &Manager{o: o} }

// Init starts the stored tasks that do not run. A task that cannot be continued is dropped.
func (m *Manager) Init(p *otp.Process) error {
	ctx, cancel := context.WithTimeout(p.Context(), RestoreTime)
	defer cancel()
	for row, value := range m.o.Stored() {
		reading := storage.Reading{
			Change: store.Change{Bucket: store.Tasks(m.o.Tasks.Tenant), Key: row, Value: value},
			Kind:   "task", Name: row,
			Tenant: func() string { return m.o.Tasks.Tenant }, Storage: m.o.Tasks.Storage,
		}
		var err error
		if !m.o.Records.Read(p, reading, func() {
			err = m.restore(ctx, p.Now(), row, value)
		}) || err == nil {
			continue
		}
		_ = p.Send(m.o.Tasks.Storage, &storage.Keep{
			Tenant: m.o.Tasks.Tenant, Change: store.Change{Bucket: store.Tasks(m.o.Tasks.Tenant), Key: row},
		})
		if !errors.Is(err, errOver) {
			m.o.Emit(telemetry.RecordDropped{
				Where: telemetry.Where{Path: p.Path(), Tenant: m.o.Tasks.Tenant}, Kind: "task",
				Reason: err.Error(), Count: 1,
			})
		}
	}
	return nil
}

var (
	errOver    = errors.New("its time is over")
	errFuture  = errors.New("a task from the future")
	errUnheard = errors.New("its principal or server is not served any more")
)

func (m *Manager) restore(ctx context.Context, now time.Time, row string,
	value jsontext.Value) error {
	a, err := load(m.o.Tasks, row, value)
	switch {
	case err != nil:
		return err
	case !now.Before(a.loaded.Expires()):
		return errOver
	case a.loaded.Expires().After(now.Add(tasks.MaxTTL)):
		return errFuture
	case !m.o.Serves(a.Caller.Principal, a.Caller.Server):
		return errUnheard
	}
	_, err = otp.StartChildArgs(ctx, m.o.Pool(), row, a)
	if runs := new(otp.ErrAlreadyStarted); errors.As(err, runs) { // another incarnation has started it
		return nil
	}
	return err
}

// Receive has nothing to do: the tasks run by themselves.
func (m *Manager) Receive(*otp.Process, any) error { return nil }
