package telemetry

import (
	"time"

	"mcpd/supervisor/otp"
)

// UpstreamLabel is the label of the rows that stand for a server, whatever connections there are to it.
const UpstreamLabel = "upstream"

// UpstreamStatus is how the tree and the metrics show an upstream connection.
type UpstreamStatus struct {
	Tenant, Server string    // keys of the configuration
	Link           string    // how it is reached: stdio, http, sse, builtin; of the row of a server
	State          string    // one of the States below
	Ending                   // why it is not ready; zero when it is
	Retry          time.Time // when it may be started again; zero when that is not waited for
	PID            int       // of the child process, if it is one
	Revision       string    // protocol revision agreed
	Odd            string    // items that the list of all servers has repaired, or not at all; empty for none
	Waits          string    // who is asked something, and which calls wait for that; of a connection
	Stale          bool      // clients are shown lists from earlier, which it has not confirmed yet
}

// TenantStatus is how the tree and the metrics show a tenant.
type TenantStatus struct {
	Tenant string
	State  string    // one of the TenantStates
	Ending           // why it ended last; zero when that is long ago
	Retry  time.Time // when it is started again; zero when that is not waited for
	Keeps  string    // how much it keeps, and of what; empty while that is no more than its share
}

// TenantStates are all states of a tenant. The package that decides on them says what each means.
var TenantStates = []string{"running", "paused", "quarantined", "probing"}

// Ending is how an upstream ended last, or what it lacks.
type Ending struct {
	Cause    string
	Class    string // "permanent" or "transient"
	Stderr   string // the last of what it wrote to its standard error
	Incident string
}

// States of an upstream. The package that decides on them says what each means.
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

// States are all of them.
var States = []string{
	StateIdle, StateStarting, StateReady, StateDegraded, StateBackoff, StateCrashLoop, StateQuarantined, StateStopped,
}

// Upstream is a status that an actor publishes about itself
// (otp.Process.SetStatus) and that can be shown as one of an upstream.
type Upstream interface{ Upstream() UpstreamStatus }

// IDUser is an Upstream that numbers its requests, and knows which share of the numbers is used up.
type IDUser interface{ RequestIDUsage() float64 }

// RecordHolder is a status of a row that keeps records. It yields how many there are of each kind; one
// kind may come more than once.
type RecordHolder interface {
	Records(yield func(kind string, n int) bool)
}

// Upstream makes the status its own description.
func (s UpstreamStatus) Upstream() UpstreamStatus { return s }

// UpstreamOf returns what a row of the tree says about an upstream, if it does.
func UpstreamOf(n otp.Node) (UpstreamStatus, bool) {
	if u, ok := n.Extra.(Upstream); ok {
		return u.Upstream(), true
	}
	return UpstreamStatus{}, false
}
