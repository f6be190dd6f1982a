package fault

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcpd/internal/clock"
)

// Registry holds the faults that are armed in one process. Its methods are safe for concurrent use, and Receive and
// Active also accept a nil registry, in which nothing is ever armed.
type Registry struct {
	clock clock.Clock

	// live is what Receive reads: nil while nothing is armed, else a list that is never changed in place.
	live atomic.Pointer[[]*armed]

	mu   sync.Mutex // guards next and every replacement of live
	next uint64
}

type armed struct {
	id    string
	fault Fault
	until time.Time
	timer clock.Timer

	struck atomic.Int64
}

// New returns a registry with nothing armed. Leases are measured on c; nil is clock.System.
func New(c clock.Clock) *Registry {
	if c == nil {
		c = clock.System
	}
	return &Registry{clock: c}
}

// Arm makes a fault strike from now on and returns the name under which it can be disarmed. It is disarmed by
// itself when its count is used up or its lease ends. Errors are ErrAction, ErrPoint, ErrCount, ErrLease, ErrFull.
func (r *Registry) Arm(f Fault) (id string, err error) {
	if err := f.check(); err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list()
	if len(list) >= MaxArmed {
		return "", fmt.Errorf("fault at %s: %w: %d", f.Point.Path, ErrFull, len(list))
	}
	r.next++
	a := &armed{id: fmt.Sprintf("fault-%d", r.next), fault: f, until: r.clock.Now().Add(f.Lease)}
	a.timer = r.clock.AfterFunc(f.Lease, func() { r.Disarm(a.id) })
	r.replace(append(slices.Clone(list), a))
	return a.id, nil
}

// Disarm ends a fault and reports whether it was armed.
func (r *Registry) Disarm(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list()
	i := slices.IndexFunc(list, func(a *armed) bool { return a.id == id })
	if i < 0 {
		return false
	}
	list[i].timer.Stop()
	r.replace(slices.Delete(slices.Clone(list), i, i+1))
	return true
}

// Active is every armed fault, in the order of arming.
func (r *Registry) Active() []Status {
	if r == nil {
		return nil
	}
	var out []Status
	for _, a := range r.list() {
		out = append(out, Status{ID: a.id, Fault: a.fault, Struck: int(a.struck.Load()), Until: a.until})
	}
	return out
}

// Receive is called by an actor at path before it handles msg. It panics with an Injected value when an armed panic
// matches, and otherwise does nothing.
func (r *Registry) Receive(path string, msg any) {
	if r == nil || r.live.Load() == nil {
		return
	}
	for _, a := range r.list() {
		if a.matches(path, msg) && r.strike(a) {
			panic(Injected{ID: a.id, Path: path})
		}
	}
}

func (a *armed) matches(path string, msg any) bool {
	p := a.fault.Point
	if prefix, ok := strings.CutSuffix(p.Path, "*"); ok {
		if !strings.HasPrefix(path, prefix) {
			return false
		}
	} else if path != p.Path {
		return false
	}
	return p.Kind == "" || msg != nil && reflect.TypeOf(msg).String() == p.Kind
}

// strike claims one of the fault's strikes, so that a count of one breaks exactly one of many concurrent receivers.
func (r *Registry) strike(a *armed) bool {
	n := a.struck.Add(1)
	limit := int64(a.fault.Count)
	if limit == 0 || n < limit {
		return true
	}
	if n > limit {
		a.struck.Add(-1)
		return false
	}
	r.Disarm(a.id)
	return true
}

func (r *Registry) list() []*armed {
	if p := r.live.Load(); p != nil {
		return *p
	}
	return nil
}

func (r *Registry) replace(list []*armed) {
	if len(list) == 0 {
		r.live.Store(nil)
		return
	}
	r.live.Store(&list)
}
