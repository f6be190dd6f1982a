// Package faults is the table of everything that an experiment can break. Each file holds one kind
// of fault: its description, its parameters, its needs, and the code that injects and heals it. A
// kind works only through the interfaces of an operator and of a client of the host, and through
// signals to its processes. It knows nothing of experiments or of schedules.
package faults

import "context"

// Kind is one way to break a host.
type Kind struct {
	// Name is the name that experiments use: the thing that breaks, a dot, and the way in which it
	// breaks.
	Name string
	// CatalogueIDs are the rows of the fault catalogue that the kind covers, as "F05".
	CatalogueIDs []string
	// Description describes the kind in one line, as a sentence without its period.
	Description string
	Aim         Aim // the sort of target
	// Partial says that the fault can strike a percentage of what it matches.
	Partial bool
	// Contends says that the fault takes cores, memory or descriptors that bystanders need too.
	Contends bool
	// Fatal says that each hit ends an incarnation of a row, so that each hit has to cost one restart.
	Fatal bool
	// Quiet says that a healthy host logs no event of the fault, because it deals with such cases all
	// the time.
	Quiet bool
	// Silent says that nothing reports the fault to the host: the host has to detect it, which takes
	// seconds.
	Silent bool
	Needs  Need
	Params []Param
	// Prewarm makes the host create the state that it keeps for minutes after use, such as the peer of
	// a modern client, so that the measurement before the run includes it. Nil does nothing.
	Prewarm func(ctx context.Context, c Client, with Values) error
	// Check returns an error if the target lacks something that the fault needs. It runs before
	// anything is measured. Nil needs nothing.
	Check func(ctx context.Context, s *Site) error
	// Inject injects the fault and returns as soon as the fault is known to be under way. The fault
	// lasts until Heal.
	Inject func(ctx context.Context, s *Site) (Injected, error)
}

// Aim is the sort of target of a kind. It decides the parts that a selector must and may have.
type Aim uint8

// The targets of kinds.
const (
	AtHost    Aim = iota // the host as a whole
	AtTenant             // a tenant
	AtRow                // a row of the supervision tree
	AtServer             // a tenant's server
	AtProgram            // a tenant's server that is a process which the host starts
)

// Need is something that a kind requires. The values are bits.
type Need uint8

// The needs of kinds.
const (
	// NeedFaultPoints needs the host's fault points: the host runs with --chaos, and we have the token
	// of that scope.
	NeedFaultPoints Need = 1 << iota
	// NeedSameMachine needs the host to be on this machine and to run as the same user, unless we are
	// root.
	NeedSameMachine
	// NeedOwnHost needs a host that is ours to kill: somebody has to start it again.
	NeedOwnHost
)

// Injected is a fault that was injected.
type Injected struct {
	// Target describes what was hit: a path, a server, a process.
	Target string
	// Heal undoes the fault and waits until nothing that it began continues. It may be called more
	// than once. It is also called when the run is aborted.
	Heal func(ctx context.Context) error
	// Hits returns how often the fault has struck so far. After Heal the number no longer changes. An
	// error reports that the host did something it must never do.
	Hits func(ctx context.Context) (int, error)
	// Figures returns what the fault itself has measured until it was healed. Each name ends in its
	// unit, as "ready_ms". Nil measures nothing.
	Figures func() map[string][]float64
}

// Kinds are all kinds of fault, sorted by name.
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

// Find returns the kind with that name.
func Find(kinds []Kind, name string) (Kind, bool) {
	for _, k := range kinds {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// Param returns the parameter with that name.
func (k Kind) Param(name string) (Param, bool) {
	for _, p := range k.Params {
		if p.Name == name {
			return p, true
		}
	}
	return Param{}, false
}
