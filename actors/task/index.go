package task

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/quota"
	"mcpd/internal/sortedmap"
	"mcpd/protocol"
	"mcpd/protocol/tasks"
	"mcpd/supervisor/otp"
)

const (
	// MaxPrincipal bounds the tasks of one principal, including finished ones: each keeps its result
	// until its time is over, or its place is needed.
	MaxPrincipal = 64
	// MaxTenant bounds the tasks of a tenant.
	MaxTenant = 1000
)

// Index holds the tasks of one tenant, by principal. Sessions read it without a message to an
// actor. The zero Index is empty and ready.
type Index struct {
	mu    sync.Mutex          // guards what follows
	all   map[string][]*Entry // each principal's, oldest first
	total int
}

// Entry is a task in the index.
type Entry struct {
	Principal, Server string
	Made              time.Time
	Dialect           tasks.Dialect // dialect of its client

	actor       otp.Ref
	object      atomic.Pointer[jsontext.Value]
	stage       atomic.Uint32
	reservation *quota.Reservation // until it is removed from the index
}

// The stages of an entry.
const (
	open      uint32 = iota
	over             // its outcome is not fetched yet
	delivered        // its outcome was fetched, or it has none
)

// show updates the description of the task that list requests return.
func (e *Entry) show(t *tasks.Task) {
	o := t.Object()
	e.object.Store(&o)
	switch s := t.Status(); {
	case s == tasks.Cancelled:
		e.stage.Store(delivered)
	case s.Final():
		e.stage.CompareAndSwap(open, over)
	}
}

// add adds an entry. If there is no place left, it replaces a finished task: an outcome that its
// client may never fetch is worth less than a new call.
func (i *Index) add(e *Entry) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.all[e.Principal]) >= MaxPrincipal || i.total >= MaxTenant {
		old := i.spare(e.Principal)
		if old == nil {
			return protocol.Overloaded("task table", time.Second)
		}
		i.drop(old)
		_ = old.actor.Send(Drop{})
	}
	if i.all == nil {
		i.all = map[string][]*Entry{}
	}
	own := i.all[e.Principal]
	// behind its equals
	at, _ := slices.BinarySearchFunc(own, e, func(a, b *Entry) int {
		return cmp.Or(a.Made.Compare(b.Made), -1)
	})
	i.all[e.Principal] = slices.Insert(own, at, e)
	i.total++
	return nil
}

// spare returns the entry to drop first: the oldest of the principal whose outcome was fetched,
// else the principal's oldest that is over. If the bound of the tenant is reached, it may be
// another principal's entry whose outcome was fetched. Nil when there is none.
func (i *Index) spare(principal string) (old *Entry) {
	own := i.all[principal]
	for _, stage := range []uint32{delivered, over} {
		if at := first(own, stage); at >= 0 {
			return own[at]
		}
	}
	if len(own) >= MaxPrincipal {
		return nil
	}
	for _, entries := range sortedmap.Sorted(i.all) {
		if at := first(entries, delivered); at >= 0 && (old == nil || entries[at].Made.Before(old.Made)) {
			old = entries[at]
		}
	}
	return old
}

// Spare drops the oldest task whose outcome was fetched, and reports whether there was one.
func (i *Index) Spare() bool {
	i.mu.Lock()
	var old *Entry
	for _, entries := range sortedmap.Sorted(i.all) {
		if at := first(entries, delivered); at >= 0 && (old == nil || entries[at].Made.Before(old.Made)) {
			old = entries[at]
		}
	}
	if old != nil {
		i.drop(old)
	}
	i.mu.Unlock()
	if old != nil {
		_ = old.actor.Send(Drop{})
	}
	return old != nil
}

// room makes room for n bytes by dropping tasks whose outcome was fetched. If there is no room even
// so, it returns the refusal.
func (i *Index) room(account *quota.Account, n int) *quota.Refusal {
	for !account.Fits(n) {
		if !i.Spare() {
			return account.CheckKeep(n)
		}
	}
	return nil
}

func first(entries []*Entry, stage uint32) int {
	return slices.IndexFunc(entries, func(e *Entry) bool { return e.stage.Load() == stage })
}

func (i *Index) remove(e *Entry) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.drop(e)
}

func (i *Index) drop(e *Entry) {
	at := slices.Index(i.all[e.Principal], e)
	if at < 0 {
		return
	}
	i.total--
	e.reservation.Release()
	if i.all[e.Principal] = slices.Delete(i.all[e.Principal], at, at+1); len(i.all[e.Principal]) == 0 {
		delete(i.all, e.Principal)
	}
}

// List returns the tasks of 2025-11-25 of a principal, oldest first: those on one server, or on all
// when server is empty. It omits a task of which its client was not told yet.
func (i *Index) List(principal, server string) (objects []jsontext.Value) {
	i.mu.Lock()
	entries := slices.Clone(i.all[principal])
	i.mu.Unlock()
	for _, e := range entries {
		if o := e.object.Load(); o != nil && e.Dialect == tasks.Core &&
			(server == "" || e.Server == server) {
			objects = append(objects, *o)
		}
	}
	return objects
}
