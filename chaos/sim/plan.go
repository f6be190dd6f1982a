package sim

import (
	"math/rand/v2"
	"time"

	"mcpd/gateway/ladder"
)

// chance is how often something happens: once in so many times. 0 is never.
type chance int

func (c chance) strikes(r *rand.Rand) bool { return c > 0 && r.IntN(int(c)) == 0 }

// plan is what a seed is about: who there is, and what goes wrong how often. Not everything goes wrong in one run, because what always happens
// hides what happens without it.
type plan struct {
	clients int // of each tenant
	calls   int // of each client

	panics   chance // of a message to an actor of the target, or that all tenants share
	panicked int    // at most
	core     bool   // actors that all tenants share may panic too
	starts   chance // that an actor of the target cannot begin, of the panics
	dials    chance // that a server cannot be reached
	hangUps  chance // that a server ends its connection instead of doing what it is told
	mutes    chance // that a server never answers a call
	late     chance // that it answers after the deadline
	twice    chance // that it answers twice
	strange  chance // that it sends an answer to what nobody asked
	lost     chance // that a message between host and server is lost
	shuffled chance // or overtaken by others
	cancels  chance // that a client cancels a call
	leaves   chance // that a client leaves with calls in flight
	asks     chance // that a server asks its client something during a call
	progress chance // that it tells how far it is
	changes  chance // that it says that its tools have changed
	updates  chance // or what is at a resource
	slow     chance // that a client has no room for what comes before an outcome
	reloads  int    // how often the target is configured otherwise
	tight    bool   // the target may have little at once
	ends     int    // how often the target is made to end, by requests that crash what handles them
	operates int    // how often an operator quarantines the target, and releases it
}

// calm is how many of the seeds break nothing: one in so many.
const calm = 8

// newPlan draws what a run is about.
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
	if r.IntN(5) == 0 { // more than supervisors put up with
		p.panics, p.panicked, p.core = chance(4+r.IntN(30)), 60, false
	}
	for _, c := range []*chance{&p.dials, &p.hangUps, &p.mutes, &p.late, &p.twice, &p.strange, &p.lost, &p.shuffled, &p.slow} {
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

// maybe is a chance that is none in half of the runs.
func maybe(r *rand.Rand, most int) chance {
	if r.IntN(2) == 0 {
		return 0
	}
	return chance(2 + r.IntN(most))
}

// The limits of the simulated host. They are short only in the reader's eyes: virtual time costs nothing.
const (
	callTimeout = 2 * time.Second
	callMax     = 10 * time.Second
	parkTime    = 20 * time.Second
	sessionIdle = 10 * time.Minute
	// settling is what anything may take that the host does by itself: starting a server, giving it up, giving up a tenant.
	settling = 2 * time.Minute
	// operating is what an operator may take who quarantines the target and releases it: his pauses, twenty tries of each,
	// and the time in which the target stops.
	operating = 10 * time.Minute
	// descending is what a tenant may take that ends again and again: its pauses, and three probes.
	descending = 3 * time.Hour
)
