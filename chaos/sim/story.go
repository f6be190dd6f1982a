package sim

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"mcpd/actors/request"
	"mcpd/internal/fault"
	"mcpd/supervisor"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// Options are the options of a run besides its seed.
type Options struct {
	Trace io.Writer // gets every line of the trace; nil keeps none

	state string // directory of the persistent state; empty keeps nothing
	// corrupt makes the running host misbehave. Nil leaves the host as it is.
	corrupt func(*simulation)
}

// Result is the result of a run.
type Result struct {
	Seed     uint64
	Sum      string // of the trace: equal for two identical runs
	Steps    int
	Virtual  time.Duration
	Calls    int
	Faults   int // that were injected
	Crashes  int // of actors
	Ends     int // of the target, by itself
	Probes   int // starts of the target to find out whether it can run
	Findings []Finding
}

// simulation is one run.
type simulation struct {
	options Options
	w       *World
	plan    plan
	host    *supervisor.Running
	faults  *fault.Registry
	result  Result

	servers  map[string]*server
	visitors []*simClient
	sessions map[string]*simClient // by the secret id
	calls    []*call
	nonces   int
	panicked int // faults that were armed to make an actor crash
	struck   int // panics among these faults, which strike at once
	// wrap wraps the host's side of each connection. Nil leaves the connection as it is.
	wrap       func(transport.Upstream) transport.Upstream
	crashed    map[string]bool // actors that have crashed
	tight      bool            // the target has low limits
	coreBroken bool            // something that all tenants share was broken
	descent    expectedState
}

// Run runs a whole host with its clients and servers, injects the faults that the seed determines,
// and checks that every client gets the guaranteed outcome. Two runs of one seed are identical.
func Run(seed uint64, o Options) (result Result) {
	trace := NewTrace(o.Trace)
	s := newStory(seed, o, trace)
	s.plan = newPlan(s.w.rand)
	s.w.Note("plan", fmt.Sprintf("%+v", s.plan), "")
	defer func() {
		if v := recover(); v != nil {
			stuck, ok := v.(Stuck)
			if !ok {
				panic(v)
			}
			s.find("I1 outcome", "the run does not end: %s; still there: %s", stuck.Why, s.w.who())
			s.w.Close()
		}
		s.result.Seed, s.result.Sum, s.result.Steps, s.result.Virtual, s.result.Calls = seed, trace.Sum(),
			s.w.steps, s.w.Since(), len(s.calls)
		result = s.result
	}()
	s.run()
	return result
}

func newStory(seed uint64, o Options, trace *Trace) *simulation {
	s := &simulation{
		options: o, w: NewWorld(seed, trace), servers: map[string]*server{},
		sessions: map[string]*simClient{}, crashed: map[string]bool{},
	}
	for _, tenant := range []string{target, bystander} {
		for _, name := range servers {
			s.servers[tenant+"/"+name] = newServer(s, tenant, name)
		}
	}
	return s
}

// noteFault records an injected fault.
func (s *simulation) noteFault(label, where string) {
	s.result.Faults++
	s.crashed[where] = true
	s.coreBroken = s.coreBroken || strings.HasPrefix(where, "mcpd/core/")
	s.w.Note("BREAK", where, label)
}

// run runs the story from beginning to end.
func (s *simulation) run() {
	for _, tenant := range []string{target, bystander} {
		for i := range s.plan.clients {
			s.visitors = append(s.visitors, newVisitor(s, tenant, i))
		}
	}
	if err := s.start(); err != nil {
		s.find("I9 supervision", "the host does not start: %v", err)
		return
	}
	standing := s.standing()
	if s.options.corrupt != nil {
		s.options.corrupt(s)
	}
	if s.tight = s.plan.tight; s.tight {
		s.noteFault("little at once", "mcpd/tenants/"+target)
	}
	s.reload()
	remaining := len(s.visitors)
	for _, c := range s.visitors {
		s.w.Spawn(c.name, func() {
			c.live()
			c.finished = true
			remaining--
		})
	}
	s.descent.exact = s.plan.panics == 0 && s.plan.reloads == 0 && s.plan.operates == 0
	// operator and knocker say whether these two are finished
	long, operator, knocker := 2*settling, true, true
	if s.plan.operates > 0 {
		remaining, long = remaining+1, time.Duration(s.plan.operates)*operating
		operator = false
		s.w.Spawn("operator", func() {
			s.operate()
			operator = true
			remaining--
		})
	}
	if s.plan.ends > 0 {
		remaining, long = remaining+1, descending
		knocker = false
		s.w.Spawn("knocker", func() {
			s.knock()
			knocker = true
			remaining--
		})
	}
	over := s.w.now.Add(long)
	s.w.AfterFunc(long, func() {})
	s.w.Wait(func() bool { return remaining == 0 || s.w.now.After(over) })
	if remaining > 0 {
		s.find("I1 outcome", "those who wait for what never comes: %s",
			strings.Join(s.waiting(operator, knocker), ", "))
	}
	s.plan = plan{} // no more faults from here on
	s.serving()
	s.w.RunFor(settling)
	s.leftovers()
	s.restarted(standing)
	s.holdings()
	if err := s.host.Stop(context.Background()); err != nil {
		s.find("I9 supervision", "the host does not stop: %v", err)
	}
	s.judge()
	if who := s.w.who(); who != "" {
		s.find("I6 leaks", "goroutines are left: %s", who)
	}
}

// waiting names the clients that have not finished, and also the operator and the knocker.
func (s *simulation) waiting(operator, knocker bool) (names []string) {
	if !operator {
		names = append(names, "the operator")
	}
	if !knocker {
		names = append(names, "the knocker")
	}
	for _, c := range s.visitors {
		if !c.finished {
			names = append(names, c.name)
		}
	}
	return names
}

// leftovers checks that the host has forgotten everything that is over.
func (s *simulation) leftovers() {
	for _, tenant := range []string{target, bystander} {
		ref, _ := s.host.Whereis("mcpd/tenants/" + tenant + "/request_manager")
		pending, err := otp.Do[request.PendingQuery, []request.Info](context.Background(), ref,
			request.PendingQuery{})
		// a cancellation that crashed the manager is lost: the call goes on until its deadline
		if err != nil || len(pending) > 0 && !s.crashed[ref.Path()] {
			s.find("I6 leaks", "the request manager of %s has %v: %v", tenant, pending, err)
		}
	}
	for id, c := range s.sessions {
		_, there := s.host.Edge().Index.Get(id)
		idle := !there && s.w.Since() > sessionIdle // it may have been evicted since
		if there == c.gone && !c.evictable() && !idle {
			s.find("session map", "the session of %s is in the index: %v, and is gone: %v", c.name,
				there, c.gone)
		}
	}
}

// pause lets a random time up to d pass.
func (s *simulation) pause(d time.Duration) {
	over := false
	s.w.AfterFunc(time.Duration(s.w.rand.Int64N(int64(d))), func() { over = true })
	s.w.Wait(func() bool { return over })
}
