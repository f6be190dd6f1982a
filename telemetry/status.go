package telemetry

import (
	"time"

	"mcpd/supervisor/otp"
)

// UpstreamLabel is the label of the rows that stand for a server as a whole, not for one
// connection.
const UpstreamLabel = "upstream"

// UpstreamStatus is the status of an upstream connection in the tree and the metrics.
type UpstreamStatus struct {
	Tenant, Server string // keys of the configuration
	// Link is the kind of link: stdio, http, sse, builtin. It is set for the row of a server.
	Link   string
	State  string // one of the States below
	Ending        // why it is not ready; zero when it is
	// Retry is when it may be started again; zero if no restart is due.
	Retry    time.Time
	PID      int    // of the child process, if it is one
	Revision string // protocol revision agreed
	// ItemIssues describes the items that the list of all servers repairs or leaves out; empty for
	// none.
	ItemIssues string
	// Waits says which user is asked something, and which calls wait for the answer. It is set for a
	// connection.
	Waits string
	// Stale reports whether clients see lists from earlier, which the server has not confirmed yet.
	Stale bool
}

// TenantStatus is the status of a tenant in the tree and the metrics.
type TenantStatus struct {
	Tenant string
	State  string // one of the TenantStates
	Ending        // why it ended last; zero if that is long ago
	// Retry is when it is started again; zero if no restart is due.
	Retry time.Time
	// Usage says how much it keeps, and of which kinds; empty while it keeps no more than its share.
	Usage string
}

// TenantStates are all states of a tenant. Package ladder defines their meaning.
var TenantStates = []string{"running", "paused", "quarantined", "probing"}

// Ending says why an upstream ended last, or what it lacks.
type Ending struct {
	Cause    string
	Class    string // "permanent" or "transient"
	Stderr   string // the end of its standard error
	Incident string
}

// States of an upstream. Their conditions are in actors/catalog/state.go.
const (
	StateIdle        = "idle"
	StateStarting    = "starting"
	StateReady       = "ready"
	StateDegraded    = "degraded"
	StateBackoff     = "backoff"
	StateCrashLoop   = "crash_loop"
	StateQuarantined = "quarantined"
	StateStopped     = "stopped"
)

// States are all states of an upstream.
var States = []string{
	StateIdle, StateStarting, StateReady, StateDegraded, StateBackoff, StateCrashLoop,
	StateQuarantined, StateStopped,
}

// Upstream is a status that an actor publishes about itself (otp.Process.SetStatus) and that
// describes an upstream.
type Upstream interface{ Upstream() UpstreamStatus }

// RequestIDUser is an Upstream that numbers its requests, and knows the share of numbers that is
// used up.
type RequestIDUser interface{ RequestIDUsage() float64 }

// RecordHolder is the status of a row that keeps records. It yields the number of records of each
// kind. A kind may occur more than once.
type RecordHolder interface {
	Records(yield func(kind string, n int) bool)
}

// Upstream returns s itself.
func (s UpstreamStatus) Upstream() UpstreamStatus { return s }

// UpstreamOf returns the status of the upstream that a row of the tree describes, if it describes
// one.
func UpstreamOf(n otp.Node) (UpstreamStatus, bool) {
	if u, ok := n.Extra.(Upstream); ok {
		return u.Upstream(), true
	}
	return UpstreamStatus{}, false
}
