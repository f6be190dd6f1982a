// Package faults is the table of what an experiment can break, one kind of fault a file: what it is, which parameters it takes, what it needs,
// and how it is done and undone. A kind works through what an operator and a client of the host have, and through signals to its processes. It
// knows neither experiments nor when it is asked to strike.
package faults

import "context"

// Kind is one way to break a host.
type Kind struct {
	Name string   // as experiments write it: what is broken, a dot, what happens to it
	Rows []string // of the fault catalogue, as "F05"
	Is   string   // in one line, as a sentence without its period
	Aim  Aim      // what it is aimed at
	// Partial says that it can strike some of a hundred that it meets.
	Partial bool
	// Contends says that bystanders need what it takes: cores, memory, descriptors.
	Contends bool
	// Fatal says that each hit ends an incarnation of a row, so that it has to cost one restart.
	Fatal bool
	// Quiet says that a healthy host has no event of it: what it does about it is what it does all day.
	Quiet bool
	// Silent says that nothing tells the host of it: it has to find it out, which takes it seconds.
	Silent bool
	Needs  Need
	Params []Param
	// Before has the host make what it keeps for minutes after it was needed, so that it is there when the host is measured before the run. Nil is
	// nothing.
	Before func(ctx context.Context, c Client, with Values) error
	// Able says what its target has not and has to have, before anything is measured. Nil needs nothing there.
	Able func(ctx context.Context, s *Site) error
	// Inject does it and returns at once, or as soon as it is known to be under way. What it began goes on until Heal.
	Inject func(ctx context.Context, s *Site) (Injected, error)
}

// Aim is what a kind is aimed at, and so what a selector has to say and may say.
type Aim uint8

// Aims.
const (
	AtHost    Aim = iota // the host as a whole
	AtTenant             // a tenant
	AtRow                // a row of the tree
	AtServer             // a tenant's server
	AtProgram            // a tenant's server that is a process which the host starts
)

// Need is what a kind cannot do without. The values are bits.
type Need uint8

// Needs.
const (
	Faults  Need = 1 << iota // the host's fault points: it runs with --chaos, and we have the token of that scope
	Machine                  // the host is on this machine and runs as the same user, or we are root
	Own                      // the host is ours to kill: somebody has to start it again
)

// Injected is a fault that was done.
type Injected struct {
	// Target is what was hit, in words: a path, a server, a process.
	Target string
	// Heal undoes it and waits until nothing that it began goes on. It may be called more than once, also when the run is aborted.
	Heal func(ctx context.Context) error
	// Hits is how often it has struck so far; after Heal it stays what it was. An error says that the host did what it must not.
	Hits func(ctx context.Context) (int, error)
	// Figures are what it has measured itself until it was healed, each by a name that ends in its unit, as "ready_ms". Nil measures nothing.
	Figures func() map[string][]float64
}

// Kinds are all there are, by name.
var Kinds = append([]Kind{
	actorHang,
	actorPanic,
	actorSlow,
	actorSpin,
	actorStart,
	childCrash,
	childKill,
	childStop,
	childrenKill,
	clientBatch,
	clientCancel,
	clientChurn,
	clientHalfOpen,
	clientHoard,
	clientResume,
	clientReturn,
	clientSameID,
	clientSessions,
	clientSlow,
	clientTrickle,
	clientVanish,
	clockStep,
	feedSlow,
	hostCrash,
	hostDescriptors,
	hostKill,
	hostStop,
	hostTerm,
	loadFlood,
	logBlocked,
	memoryFill,
	reloadStorm,
	resolverMissing,
	resolverSlow,
}, append(servers(),
	stateDamage,
	storeFull,
	storeReadOnly,
	storeSlow,
	upstreamCut,
	upstreamDrop,
	upstreamDuplicate,
	upstreamGarble,
	upstreamLate,
	upstreamSlow,
	upstreamTruncate,
)...)

// Find returns the kind of that name.
func Find(kinds []Kind, name string) (Kind, bool) {
	for _, k := range kinds {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// Param returns the parameter of that name.
func (k Kind) Param(name string) (Param, bool) {
	for _, p := range k.Params {
		if p.Name == name {
			return p, true
		}
	}
	return Param{}, false
}
