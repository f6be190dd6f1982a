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
	spun   atomic.Uint64 // what a spinning actor computes
	hinted atomic.Int64  // when a strike was last told of, in nanoseconds; 0 is never

	draws sync.Mutex // guards random
	// random draws who is struck; nil strikes all.
	random *rand.Rand

	// Guarded by the registry's mutex.
	until  time.Time
	timer  clock.Timer
	leases uint64 // a timer belongs to one of them
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

// at reports whether an actor's place is the fault's.
func (a *armed) at(place Place, path string, msg any, caused func(msg any) string) bool {
	p := &a.fault.Point
	return a.covers(path) && p.Place == place && (p.Kind == "" || msg != nil && reflect.TypeOf(msg).String() == p.Kind) &&
		(p.Tenant == "" || caused(msg) == p.Tenant)
}

// covers reports whether it is a fault of the actor at path.
func (a *armed) covers(path string) bool {
	if a.prefix {
		return strings.HasPrefix(path, a.path)
	}
	return path == a.path
}

// of reports whether a place that is no actor's is the fault's.
func (a *armed) of(place Place, who Who) bool {
	p := &a.fault.Point
	return p.Place == place && (p.Tenant == "" || p.Tenant == who.Tenant) && (p.Server == "" || p.Server == who.Server) &&
		(p.Session == "" || p.Session == who.Session)
}

// drawn reports whether this one is struck.
func (a *armed) drawn() bool {
	if a.random == nil {
		return true
	}
	a.draws.Lock()
	defer a.draws.Unlock()
	return a.random.Float64()*100 < a.fault.Percent
}
