package telemetry

import "mcpd/supervisor/otp"

// UpstreamStatus is how the tree and the metrics show an upstream connection.
type UpstreamStatus struct {
	Tenant, Server string // keys of the configuration
	State          string // one of the States below
	Cause          string // why it is not ready
	PID            int    // of the child process, if it is one
	Revision       string // protocol revision agreed
	Stale          bool   // clients are shown lists from earlier, which it has not confirmed yet
}

// States of an upstream.
const (
	StateStarting  = "starting"
	StateReady     = "ready"
	StateBackoff   = "backoff"
	StateCrashLoop = "crash_loop"
	StateStopped   = "stopped"
)

// Upstream is a status that an actor publishes about itself
// (otp.Process.SetStatus) and that can be shown as one of an upstream.
type Upstream interface{ Upstream() UpstreamStatus }

// Upstream makes the status its own description.
func (s UpstreamStatus) Upstream() UpstreamStatus { return s }

// UpstreamOf returns what a row of the tree says about an upstream, if it does.
func UpstreamOf(n otp.Node) (UpstreamStatus, bool) {
	if u, ok := n.Extra.(Upstream); ok {
		return u.Upstream(), true
	}
	return UpstreamStatus{}, false
}
