package fault

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcpd/internal/clock"
)

// Registry holds the faults that are armed in one process. Its methods are safe for concurrent use.
// The methods that check for faults also accept a nil registry, in which nothing is ever armed.
type Registry struct {
	clock clock.Clock

	// live is read by checks. It is nil while nothing is armed. The list is never changed in place.
	live atomic.Pointer[[]*armed]

	// caused returns the tenant that has caused a message, "" if there is none.
	caused atomic.Pointer[func(msg any) string]

	// mu guards the fields below, every replacement of live, and the fields of armed that name it.
	mu   sync.Mutex
	next uint64
	tell func(Change)
}

// New returns a registry with nothing armed. Leases are measured on c; nil is clock.System.
func New(c clock.Clock) *Registry {
	if c == nil {
		c = clock.System
	}
	return &Registry{clock: c}
}

// Attribute sets the function that finds the tenant that has caused a message: see Point.Who.
func (r *Registry) Attribute(f func(msg any) string) {
	if r != nil {
		r.caused.Store(&f)
	}
}

// causedBy returns the tenant that has caused a message, "" if there is none.
func (r *Registry) causedBy(msg any) string {
	if f := r.caused.Load(); f != nil {
		return (*f)(msg)
	}
	return ""
}

// Change is an event of a fault.
type Change struct {
	Kind ChangeKind
	Status
}

// ChangeKind is the kind of a Change.
type ChangeKind string

// The kinds of changes. A strike is reported at most once a second for each fault. A panic is never
// reported as a strike, because its crash report is.
const (
	Armed    ChangeKind = "armed"
	Renewed  ChangeKind = "renewed"
	Struck   ChangeKind = "struck"
	Disarmed ChangeKind = "disarmed" // by a caller
	UsedUp   ChangeKind = "used up"  // its count is exhausted
	Expired  ChangeKind = "expired"  // its lease was not renewed
)

// Watch sets f as the function that gets every change from now on, in place of the previous one. It
// must return promptly.
func (r *Registry) Watch(f func(Change)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell = f
}

// Arm arms a fault and returns the id with which it can be renewed and disarmed. The fault is
// disarmed by itself when its count is used up or its lease ends.
func (r *Registry) Arm(f Fault) (id string, err error) {
	if err := f.check(); err != nil {
		return "", err
	}
	if f.Point.Place == "" {
		f.Point.Place = Receive
	}
	r.mu.Lock()
	list := r.list()
	if len(list) >= MaxArmed {
		r.mu.Unlock()
		return "", fmt.Errorf("fault %q: %w: %d", f.Action, ErrFull, len(list))
	}
	r.next++
	a := newArmed(fmt.Sprintf("fault-%d", r.next), f)
	r.lease(a, f.Lease)
	r.replace(append(slices.Clone(list), a))
	tell, c := r.tell, Change{Armed, a.status()}
	r.mu.Unlock()
	told(tell, c)
	return a.id, nil
}

// Renew gives an armed fault a new lease from now on. Errors are ErrLease and ErrGone.
func (r *Registry) Renew(id string, lease time.Duration) (Status, error) {
	if err := checkLease(lease); err != nil {
		return Status{}, err
	}
	r.mu.Lock()
	i := r.index(id)
	if i < 0 {
		r.mu.Unlock()
		return Status{}, fmt.Errorf("%s: %w", id, ErrGone)
	}
	a := r.list()[i]
	a.timer.Stop()
	a.fault.Lease = lease
	r.lease(a, lease)
	tell, c := r.tell, Change{Renewed, a.status()}
	r.mu.Unlock()
	told(tell, c)
	return c.Status, nil
}

// lease sets the timer that ends a fault. A timer that fires although a newer lease exists does
// nothing.
func (r *Registry) lease(a *armed, d time.Duration) {
	a.leaseNumber++
	lease := a.leaseNumber
	a.until = r.clock.Now().Add(d)
	a.timer = r.clock.AfterFunc(d, func() {
		r.end(a.id, Expired, func() bool { return a.leaseNumber == lease })
	})
}

// Disarm ends a fault and reports whether it was armed.
func (r *Registry) Disarm(id string) bool { return r.end(id, Disarmed, nil) }

// DisarmRun ends all faults that a run has armed, or all faults if its name is empty, and returns
// their number.
func (r *Registry) DisarmRun(run string) (n int) {
	for _, s := range r.Active() {
		if (run == "" || s.Run == run) && r.Disarm(s.ID) {
			n++
		}
	}
	return n
}

// end removes a fault from the list if it is there and the function still, unless it is nil,
// returns true.
func (r *Registry) end(id string, how ChangeKind, still func() bool) bool {
	r.mu.Lock()
	i := r.index(id)
	if i < 0 || still != nil && !still() {
		r.mu.Unlock()
		return false
	}
	list := r.list()
	a := list[i]
	a.timer.Stop()
	r.replace(slices.Delete(slices.Clone(list), i, i+1))
	close(a.over)
	tell, c := r.tell, Change{how, a.status()}
	r.mu.Unlock()
	told(tell, c)
	return true
}

// Active returns every armed fault, in the order of arming.
func (r *Registry) Active() []Status {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Status
	for _, a := range r.list() {
		out = append(out, a.status())
	}
	return out
}

func (r *Registry) index(id string) int {
	return slices.IndexFunc(r.list(), func(a *armed) bool { return a.id == id })
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

func told(tell func(Change), c Change) {
	if tell != nil {
		tell(c)
	}
}
