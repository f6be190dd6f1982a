package session

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"mcpd/protocol"
)

// MaxCapabilitySets bounds the sets of capabilities that servers are told of for one principal of a
// tenant. Each server has a connection of its own for each set. So MaxCapabilitySets also bounds
// the connections and processes that a principal can cause by declaring different capabilities.
//
// Beyond the bound, a client is served with the largest known set that is a subset of what it
// declares. There always is such a set, because the last place is kept for the empty set.
const MaxCapabilitySets = 8

// CapabilitySetLinger is how long a set counts after its last session has ended. A connection for
// the set stays open for less than that.
const CapabilitySetLinger = 10 * time.Minute

// capabilitySets are the capability sets of one principal. The zero value has none.
type capabilitySets struct {
	uses map[protocol.Fingerprint]int // number of sessions and peers that use a set
	// For sets without use: when the last use ended. Any one clock will do.
	unusedSince map[protocol.Fingerprint]time.Duration
}

// grant chooses the set that servers are told of for a client that declares f. It counts one use of
// the set.
func (s *capabilitySets) grant(f protocol.Fingerprint, now time.Duration) protocol.Fingerprint {
	s.forget(now)
	if s.uses == nil {
		s.uses, s.unusedSince = map[protocol.Fingerprint]int{}, map[protocol.Fingerprint]time.Duration{}
	}
	f = s.choose(f)
	s.uses[f]++
	delete(s.unusedSince, f)
	return f
}

// choose returns f if f is known or there is room for it, and otherwise the best substitute.
func (s *capabilitySets) choose(f protocol.Fingerprint) protocol.Fingerprint {
	known := slices.Collect(maps.Keys(s.uses))
	known = slices.AppendSeq(known, maps.Keys(s.unusedSince))
	count := len(known)
	if !slices.Contains(known, 0) {
		count++ // the place of the empty set is kept
	}
	if slices.Contains(known, f) || f == 0 || count < MaxCapabilitySets {
		return f
	}
	best := protocol.Fingerprint(0)
	for _, k := range known {
		if k.Within(f) && cmp.Or(cmp.Compare(k.Size(), best.Size()), cmp.Compare(k, best)) > 0 {
			best = k
		}
	}
	return best
}

// release ends one use of a set.
func (s *capabilitySets) release(f protocol.Fingerprint, now time.Duration) {
	if s.uses[f]--; s.uses[f] <= 0 {
		delete(s.uses, f)
		s.unusedSince[f] = now
	}
}

// forget drops the sets whose connections have ended.
func (s *capabilitySets) forget(now time.Duration) {
	maps.DeleteFunc(s.unusedSince, func(_ protocol.Fingerprint, at time.Duration) bool {
		return now-at > CapabilitySetLinger
	})
}

// empty reports whether there is nothing to remember.
func (s *capabilitySets) empty(now time.Duration) bool {
	s.forget(now)
	return len(s.uses)+len(s.unusedSince) == 0
}
