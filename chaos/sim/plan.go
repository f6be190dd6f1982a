package sim

import (
	"math/rand/v2"
	"time"

	"mcpd/gateway/ladder"
)

// chance is a probability: an event happens once in so many times. 0 is never.
type chance int

func (c chance) strikes(r *rand.Rand) bool { return c > 0 && r.IntN(int(c)) == 0 }

// plan is what a seed determines: the number of clients, and the frequency of each fault. One run
// does not have all faults, because a frequent fault hides the bugs that occur only without it.
type plan struct {
	clients int // of each tenant
	calls   int // of each client

	// panics is the chance that an actor panics at a message: an actor of the target or, with core
	// set, one that all tenants share.
	panics   chance
	panicked int    // maximum number of panics
	core     bool   // actors that all tenants share may panic too
	starts   chance // of the panics: that an actor of the target fails to start
	dials    chance // that a server cannot be reached
	hangUps  chance // that a server closes its connection instead of answering
	mutes    chance // that a server never answers a call
	late     chance // that it answers after the deadline
	twice    chance // that it answers twice
	strange  chance // that it sends an answer that matches no request
	lost     chance // that a message between host and server is lost
	shuffled chance // or overtaken by others
	cancels  chance // that a client cancels a call
	leaves   chance // that a client leaves with calls in flight
	asks     chance // that a server asks its client something during a call
	progress chance // that it sends progress notifications
	changes  chance // that it announces a change of its tools
	updates  chance // or of a resource
	slow     chance // that a client has no room for messages before an outcome
	reloads  int    // how often the target's configuration is changed
	tight    bool   // the target has low limits
	ends     int    // how often the target is made to end, by requests that crash their handler
	operates int    // how often an operator quarantines the target, and releases it
}

// calm says that one in so many seeds breaks nothing.
const calm = 8

// newPlan makes the plan of a run.
func newPlan(r *rand.Rand) (p plan) {
	p.clients, p.calls = 1+r.IntN(3), 2+r.IntN(6)
	for _, c := range []*chance{&p.cancels, &p.leaves, &p.asks, &p.progress, &p.changes, &p.updates} {
		*c = maybe(r, 6)
	}
	if calm := r.IntN(calm) == 0; calm {
		return p
	}
	if p.panics = maybe(r, 150); p.panics > 0 {
		p.panics += 20
	}
	p.panicked, p.core, p.starts = 1+r.IntN(6), r.IntN(2) == 0, maybe(r, 4)
	if r.IntN(5) == 0 { // more than supervisors tolerate
		p.panics, p.panicked, p.core = chance(4+r.IntN(30)), 60, false
	}
	for _, c := range []*chance{&p.dials, &p.hangUps, &p.mutes, &p.late, &p.twice, &p.strange, &p.lost,
		&p.shuffled, &p.slow} {
		*c = maybe(r, 12)
	}
	p.tight = r.IntN(4) == 0
	if r.IntN(3) == 0 {
		p.reloads = 1 + r.IntN(3)
	}
	switch r.IntN(20) {
	case 0: // the ladder alone, to its end: pauses, the quarantine, and probes
		p = plan{clients: p.clients, calls: p.calls, ends: 1 + r.IntN(ladder.MaxEnds)}
		if r.IntN(2) == 0 {
			p.ends = ladder.MaxEnds + r.IntN(3)
		}
	case 1:
		p.ends = 1 + r.IntN(3)
	case 2:
		p.ends, p.operates = r.IntN(3), 1+r.IntN(2)
	}
	return p
}

// maybe returns a chance that is 0 in half of the runs.
func maybe(r *rand.Rand, most int) chance {
	if r.IntN(2) == 0 {
		return 0
	}
	return chance(2 + r.IntN(most))
}

// The limits of the simulated host. Long limits do no harm, since virtual time costs nothing.
const (
	callTimeout  = 2 * time.Second
	callMax      = 10 * time.Second
	inputTimeout = 20 * time.Second
	sessionIdle  = 10 * time.Minute
	// settling is the longest time that the host may take for anything by itself: starting a server,
	// giving up a server, giving up a tenant.
	settling = 2 * time.Minute
	// operating is the longest time that an operator may take to quarantine the target and release it:
	// the operator's pauses, twenty attempts at each, and the time in which the target stops.
	operating = 10 * time.Minute
	// descending is the longest time of a tenant that ends again and again: its pauses, and three
	// probes.
	descending = 3 * time.Hour
)
