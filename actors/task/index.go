package task

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/tasks"
)

const (
	// MaxPrincipal bounds the tasks of one principal, finished ones included: each keeps its result for its time.
	MaxPrincipal = 64
	// MaxTenant bounds those of a tenant.
	MaxTenant = 1000
)

// Index is the tasks of one tenant, by principal. Sessions read it without asking an actor. The zero Index is empty and ready.
type Index struct {
	mu    sync.Mutex // guards what follows
	all   map[string][]*Entry
	total int
}

// Entry is a task in the index.
type Entry struct {
	Principal, Server string
	Number            uint64
	Dialect           tasks.Dialect // of its client

	object atomic.Pointer[jsontext.Value]
}

// show keeps how the task is, for those who list it.
func (e *Entry) show(o jsontext.Value) { e.object.Store(&o) }

func (i *Index) add(e *Entry) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.all[e.Principal]) >= MaxPrincipal || i.total >= MaxTenant {
		return protocol.Overloaded("tasks", 0)
	}
	if i.all == nil {
		i.all = map[string][]*Entry{}
	}
	i.all[e.Principal] = append(i.all[e.Principal], e)
	i.total++
	return nil
}

func (i *Index) remove(e *Entry) {
	i.mu.Lock()
	defer i.mu.Unlock()
	at := slices.Index(i.all[e.Principal], e)
	if at < 0 {
		return
	}
	i.total--
	if i.all[e.Principal] = slices.Delete(i.all[e.Principal], at, at+1); len(i.all[e.Principal]) == 0 {
		delete(i.all, e.Principal)
	}
}

// List is the tasks of 2025-11-25 that a principal has, oldest first: those of one server, or of all when it is empty. A task that its
// client was not told of yet is not among them.
func (i *Index) List(principal, server string) (objects []jsontext.Value) {
	i.mu.Lock()
	entries := slices.Clone(i.all[principal])
	i.mu.Unlock()
	slices.SortFunc(entries, func(a, b *Entry) int { return cmp.Compare(a.Number, b.Number) })
	for _, e := range entries {
		if o := e.object.Load(); o != nil && e.Dialect == tasks.Core && (server == "" || e.Server == server) {
			objects = append(objects, *o)
		}
	}
	return objects
}
