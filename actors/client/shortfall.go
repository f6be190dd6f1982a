package client

import (
	"strings"

	"mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/telemetry"
)

// Shortfall says what a list lacks of what its server has, and why. The zero Shortfall is of a
// complete list.
type Shortfall struct {
	State Completeness
	Words string // what is missing and why, for clients and operators
}

// Completeness says how much of a server's list is known.
type Completeness uint8

// The states of a list.
const (
	Complete  Completeness = iota
	Older                  // it could not be fetched again: this is what the server listed before
	Shortened              // a bound left something out
	Waiting                // it was asked for and was never answered yet
	Failed                 // it could not be fetched, and never was
)

// Lacks reports whether a list could not be fetched.
func (c Completeness) Lacks() bool { return c == Older || c >= Waiting }

// Provisional reports whether the list that is shown changes as soon as the server answers.
func (c Completeness) Provisional() bool { return c >= Waiting }

// Own reports whether the list can stand for the answer of its server.
func (c Completeness) Own() bool { return c <= Older }

// short returns what is wrong with each list of a server.
func (l *listing) short(facts Facts) (all [Kinds]Shortfall) {
	for k := range all {
		f, kind := &l.fetching[k], catalog.Kind(k)
		switch {
		case f.cause != nil && l.had[k]:
			all[k] = Shortfall{
				Older, kind.Method() + ": an earlier list is shown, because " + f.cause.Error(),
			}
		case f.cause != nil:
			all[k] = Shortfall{Failed, kind.Method() + ": " + f.cause.Error()}
		case f.busy && !l.had[k] && facts.Offers(kind):
			all[k] = Shortfall{Waiting, kind.Method() + ": no answer yet"}
		case len(l.cuts[k]) > 0:
			all[k] = Shortfall{Shortened, catalog.DescribeCuts(kind, l.cuts[k])}
		}
		all[k].Words = telemetry.Clean(all[k].Words, protocol.MaxDetail)
	}
	return all
}

// lacks says which lists could not be fetched, and why; empty when there are all.
func lacks(short [Kinds]Shortfall) string {
	var list []string
	for _, s := range short {
		if s.State.Lacks() {
			list = append(list, s.Words)
		}
	}
	return strings.Join(list, "; ")
}
