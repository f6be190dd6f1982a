package soak

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// target is what a kind of event can hit.
type target int

const (
	program target = iota // a server that mcpd runs
	remote                // a server behind a URL
	server                // either
	tenant                // a whole tenant
	host                  // mcpd itself: no other event happens meanwhile
)

// kind is a row of the table of events.
type kind struct {
	name  string
	label string
	hits  target
	slow  bool          // left out of the short form
	last  time.Duration // how long the cause lasts
	// starts means that the event makes servers start, which explains errors with that cause.
	starts bool
	// reasons are the reasons of the errors that the event explains, for the tenant and server that
	// it hits. If the host is the target, calls may also end without an answer.
	reasons []string
}

// explainTime is how long after its end an event still explains errors. startTime is that time for
// errors about a server which is still starting: two programs start at a time, and a host has
// many.
const (
	explainTime = 20 * time.Second
	startTime   = time.Minute
)

// starting is the cause in errors about a server which is still starting.
const starting = "starting"

var kinds = []kind{
	{name: "kill", label: "SIGKILL of a process of a server", hits: program, starts: true,
		reasons: unavailableReasons},
	{name: "away", label: "a server behind a URL is killed, and started again after 4 s", hits: remote,
		last: 4 * time.Second, starts: true, reasons: unavailableReasons},
	{name: "stop", label: "SIGSTOP of a process of a server, for longer than calls may take",
		hits: program, slow: true, last: 25 * time.Second, starts: true,
		reasons: append([]string{"timeout"}, unavailableReasons...)},
	{name: "restart", label: "a server is restarted by the admin API", hits: server, starts: true,
		reasons: unavailableReasons},
	{name: "reload", label: "the configuration of a server changes, and is reloaded", hits: server,
		starts: true, reasons: unavailableReasons},
	{name: "flood", label: "300 clients call the counting server of a tenant at once, for 4 s",
		hits: tenant, last: 4 * time.Second,
		reasons: []string{"overloaded", "rate_limited", "queue_full"}},
	{name: "vanish", label: "20 clients open a session and a stream, and are gone without DELETE",
		hits: tenant},
	{name: "disk", label: "no byte is left where the state is, for 10 s", hits: host, slow: true,
		last: 10 * time.Second},
	{name: "host killed", label: "kill -9 of the host, and a start with its state", hits: host,
		starts: true, reasons: afterRestart},
	{name: "host stopped", label: "SIGTERM of the host, and a start with its state", hits: host,
		starts: true, reasons: afterRestart},
}

// unavailableReasons are the reasons of errors for a server that is not available.
var unavailableReasons = []string{"upstream_lost", "upstream_quarantined", "upstream_unavailable"}

// afterRestart are the reasons of errors after a start of the host.
var afterRestart = append([]string{"session_gone", "stopping"}, unavailableReasons...)

// event is one entry of the plan.
type event struct {
	kind           kind
	at, until      time.Duration // since the start of the soak
	tenant, server string        // empty for all
}

// site is what events can hit: the names of the tenants, and of the servers that each tenant has.
type site struct {
	tenants, programs, remotes []string
}

// plan returns a list of events, ordered by their start. Each kind occurs before any kind occurs
// again, and all events end within length. Without slow, slow kinds are left out.
func plan(seed uint64, length, gap time.Duration, slow bool, on site) []event {
	random := rand.New(rand.NewPCG(seed, 0))
	var all []event
	var bag []kind
	busy := map[string]time.Duration{} // when the tenant is free again, by tenant
	for next := gap; ; next += gap/2 + time.Duration(random.Int64N(int64(gap))) {
		if len(bag) == 0 {
			for _, i := range random.Perm(len(kinds)) {
				if slow || !kinds[i].slow {
					bag = append(bag, kinds[i])
				}
			}
		}
		e := event{kind: bag[0]}
		bag = bag[1:]
		if e.kind.hits == host {
			for _, until := range busy {
				next = max(next, until+gap)
			}
		} else {
			e.tenant = on.tenants[random.IntN(len(on.tenants))]
			next = max(next, busy[e.tenant], busy[""])
		}
		if choice := on.servers(e.kind.hits); len(choice) > 0 {
			e.server = choice[random.IntN(len(choice))]
		}
		e.at, e.until = next, next+e.kind.last
		if e.until > length {
			return all
		}
		all = append(all, e)
		busy[e.tenant] = e.until + gap
	}
}

// servers returns the servers that an event with this target can hit.
func (s site) servers(t target) []string {
	switch t {
	case program:
		return s.programs
	case remote:
		return s.remotes
	case server:
		return slices.Concat(s.programs, s.remotes)
	}
	return nil
}

var someSite = site{[]string{"a", "b"}, []string{"p", "q"}, []string{"r"}}

func TestPlan(t *testing.T) {
	const length, gap = 20 * time.Minute, 3 * time.Second
	for _, slow := range []bool{true, false} {
		first, again := plan(7, length, gap, slow, someSite), plan(7, length, gap, slow, someSite)
		same := slices.EqualFunc(first, again, equal)
		if !same || slices.EqualFunc(first, plan(8, length, gap, slow, someSite), equal) {
			t.Errorf("the same seed has the same plan: %t; another seed must not", same)
		}
		times := map[string]int{}
		for i, e := range first {
			times[e.kind.name]++
			if e.until > length || e.until < e.at || i > 0 && e.at < first[i-1].at {
				t.Errorf("event %d, %+v: out of place", i, e)
			}
			if e.kind.hits != host {
				continue
			}
			for j, o := range first {
				if i != j && o.at <= e.until && e.at <= o.until {
					t.Errorf("%+v while %+v", o, e)
				}
			}
		}
		for _, k := range kinds {
			if occurs := times[k.name] >= 3; occurs != (slow || !k.slow) {
				t.Errorf("slow %t: %s occurs %d times", slow, k.name, times[k.name])
			}
		}
	}
}

func equal(a, b event) bool {
	return a.kind.name == b.kind.name && a.at == b.at && a.tenant == b.tenant && a.server == b.server
}
