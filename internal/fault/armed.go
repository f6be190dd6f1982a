package fault

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcpd/internal/clock"
)

// armed is one fault in the list.
type armed struct {
	id     string
	fault  Fault
	prefix bool   // the path is a prefix
	path   string // without its star
	over   chan struct{}

	struck atomic.Int64
	spun   atomic.Uint64 // the result of a spinning actor's computation
	hinted atomic.Int64  // time of the last reported strike in nanoseconds; 0 is never

	draws sync.Mutex // guards random
	// random decides which matches are struck; nil strikes all.
	random *rand.Rand

	// The registry's mutex guards the fields below.
	until       time.Time
	timer       clock.Timer
	leaseNumber uint64 // identifies the lease to which a timer belongs
}

func newArmed(id string, f Fault) *armed {
	a := &armed{id: id, fault: f, over: make(chan struct{})}
	a.path, a.prefix = strings.CutSuffix(f.Point.Path, "*")
	if f.Percent > 0 && f.Percent < 100 {
		a.random = rand.New(rand.NewPCG(f.Seed, 0))
	}
	return a
}

func (a *armed) status() Status {
	return Status{ID: a.id, Fault: a.fault, Struck: int(a.struck.Load()), Until: a.until}
}

// at reports whether the fault matches a place of an actor.
func (a *armed) at(place Place, path string, msg any, caused func(msg any) string) bool {
	p := &a.fault.Point
	return a.covers(path) && p.Place == place &&
		(p.Kind == "" || msg != nil && reflect.TypeOf(msg).String() == p.Kind) &&
		(p.Tenant == "" || caused(msg) == p.Tenant)
}

// covers reports whether the fault matches the actor at path.
func (a *armed) covers(path string) bool {
	if a.prefix {
		return strings.HasPrefix(path, a.path)
	}
	return path == a.path
}

// of reports whether the fault matches a place that belongs to no actor.
func (a *armed) of(place Place, origin Who) bool {
	p := &a.fault.Point
	return p.Place == place && (p.Tenant == "" || p.Tenant == origin.Tenant) &&
		(p.Server == "" || p.Server == origin.Server) &&
		(p.Session == "" || p.Session == origin.Session)
}

// chosen decides at random whether this match is struck.
func (a *armed) chosen() bool {
	if a.random == nil {
		return true
	}
	a.draws.Lock()
	defer a.draws.Unlock()
	return a.random.Float64()*100 < a.fault.Percent
}
