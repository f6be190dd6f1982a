package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
	"unicode"

	"mcpd/actors/client"
	"mcpd/gateway/config"
	"mcpd/internal/fault"
	"mcpd/supervisor"
	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// The tenants. All faults of a run are the target's, and the bystander must not notice them.
const (
	target    = "acme"
	bystander = "globex"
)

// document is the configuration of the simulated host. The run provides the servers, so that only
// the sharing of connections in their declarations matters.
const document = `
limits: {call_timeout: %v, call_timeout_max: %v, input_timeout: %v, request_timeout: 1s, start_timeout: 5s, list_wait: 3s, session_idle: %v}
tenants:
  acme: {limits: {%s}, servers: {%s}}
  globex: {servers: {%s}}
`

// all are the first declarations of a tenant's servers, and others the later ones.
const all = "old: {command: old, share: tenant}, own: {command: own, share: session}, new: " +
	"{command: new, share: principal}"

var others = []string{
	all,
	"old: {command: old2, share: tenant}, own: {command: own, share: session}, new: {command: new, " +
		"share: principal}",
	"old: {command: old, share: session}, new: {command: new, share: session}",
	"own: {command: own, share: principal}, new: {command: new2, share: tenant, start: eager}",
}

// configuration returns the host's configuration with these servers of the target.
func (s *simulation) configuration(servers string) (*config.Config, error) {
	limits := ""
	if s.plan.tight {
		limits = "max_sessions: 2, max_pending: 3, max_session_pending: 2"
	}
	return config.Load(fmt.Appendf(nil, document, callTimeout, callMax, inputTimeout,
		sessionIdle, limits,
		servers, all), config.Options{File: "simulation"})
}

// reload changes the configuration of the target.
func (s *simulation) reload() {
	s.w.Spawn("operator", func() {
		for range s.plan.reloads {
			s.pause(2 * time.Second)
			s.noteFault("reload", "mcpd/tenants/"+target)
			if err := s.host.Reload(context.Background()); err != nil && s.plan.panics == 0 {
				s.find("reload", "%v", err)
			}
		}
	})
}

// start starts the host of a run.
func (s *simulation) start() error {
	c, err := s.configuration(all)
	if err != nil {
		return err
	}
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(s.w.rand.Uint32())
	}
	s.faults = fault.New(s.w)
	s.w.beforeHandle = s.beforeHandle
	s.host, err = supervisor.Start(context.Background(), c, supervisor.Options{
		Embedded: true, Clock: s.w, Faults: s.faults, State: s.options.state,
		Load: func() (*config.Config, string, error) {
			c, err := s.configuration(others[s.w.rand.IntN(len(others))])
			return c, "simulation", err
		},
		Simulation: supervisor.Simulation{
			Scheduler: s.w, Random: rand.NewChaCha8(seed),
			Draw:   func(n time.Duration) time.Duration { return time.Duration(s.w.rand.Int64N(int64(n))) },
			Dial:   s.dial,
			Events: s.event,
		},
	})
	return err
}

var errUnreachable = errors.New("connection refused")

// dial opens a connection to a server of the run.
func (s *simulation) dial(tenant, name string) client.Dial {
	peer := s.servers[tenant+"/"+name]
	return func(context.Context, otp.Ref) (transport.Upstream, error) {
		if peer.struck(s.plan.dials) {
			s.noteFault("dial", peer.at)
			return nil, errUnreachable
		}
		s.w.Note("dial", peer.at, "")
		if s.wrap != nil {
			return s.wrap(newWire(peer)), nil
		}
		return newWire(peer), nil
	}
}

// beforeHandle is called before each message is handled. Now and then it injects a fault into the
// actor.
func (s *simulation) beforeHandle(path, kind string) {
	if s.poison(path, kind) {
		return
	}
	if s.panicked >= s.plan.panicked || !s.breakable(path) || !s.plan.panics.strikes(s.w.rand) {
		return
	}
	f := fault.Fault{
		Action: fault.Panic, Point: fault.Point{Place: fault.Receive, Path: path}, Count: 1,
		Lease: time.Second,
	}
	switch {
	case kind == "*actor.Restart" && s.plan.starts.strikes(s.w.rand):
		f.Action, f.Point.Place = fault.Fail, fault.Init
	case system(kind):
		return
	default:
		s.struck++
	}
	s.panicked++
	s.noteFault(string(f.Action), path)
	if _, err := s.faults.Arm(f); err != nil {
		s.find("simulation", "a fault cannot be armed: %v", err)
	}
}

// system reports whether a message belongs to supervision itself. Actors do not handle such
// messages.
func system(kind string) bool {
	name, of := strings.CutPrefix(kind, "otp.")
	return strings.HasPrefix(kind, "*actor.") || of && unicode.IsLower(rune(name[0]))
}

// breakable reports whether the actor at a path may be broken.
func (s *simulation) breakable(path string) bool {
	return strings.HasPrefix(path, "mcpd/tenants/"+target+"/") ||
		s.plan.core && strings.HasPrefix(path, "mcpd/core/")
}

// event checks an event of the tree: only actors with an injected fault may crash.
func (s *simulation) event(e otp.Event) {
	s.w.Note("event", e.Where(), fmt.Sprintf("%T", e))
	s.follow(e)
	var crash *otp.CrashReport
	switch e := e.(type) {
	case otp.ChildExited:
		crash = e.Report
		if !otp.IsNormal(e.Reason) && !s.coreBroken &&
			!strings.HasPrefix(e.Path, "mcpd/tenants/"+target) {
			s.find("I9 supervision", "%s has ended, which nothing was done to: %v", e.Path, e.Reason)
		}
	case otp.StartFailed:
		crash = e.Report
	case otp.TerminatePanicked:
		crash = e.Report
	case otp.Abandoned:
		s.find("I9 supervision", "%s was abandoned", e.Path)
	}
	if crash == nil || len(crash.PCs) == 0 {
		return
	}
	s.result.Crashes++
	if !errors.As(crash.Reason, new(fault.Injected)) {
		s.find("I9 supervision", "%v\n%s", crash, crash.Stack())
	}
}
