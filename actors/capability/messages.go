package capability

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/supervisor/otp"
)

// Info describes one capability that the host knows (S4-21).
type Info struct {
	Name         string
	Version      string   // of the capability itself, not of the protocol (S0-55)
	Side         string   // "client" or "server": the side that declares it
	Since        string   // first revision of the protocol that has it
	Required     bool     // a peer without it cannot be served
	Dependencies []string // capabilities without which it has no use
	Description  string
	Flags        []string // its boolean members, such as "listChanged"
	Enabled      bool
}

// The calls to the registry.
type (
	// Discover asks for the last declaration of a server (S4-22). The reply is its capabilities as the
	// server wrote them, or ErrNotFound.
	Discover = otp.Call[DiscoverRequest, jsontext.Value]
	// Query asks for one capability by name (S4-23); ErrNotFound when it is unknown.
	Query = otp.Call[string, Info]
	// Subscribe has every change sent to a row as Changed, until the row is gone (S4-24). It is for
	// monitoring; a session's own capabilities never change (S4-33). The reply is the current state.
	Subscribe = otp.Call[SubscribeRequest, State]
	// Notify enables or disables a capability and tells the subscribers (S4-25).
	Notify = otp.Call[NotifyRequest, struct{}]
	// Register adds an experimental feature or replaces it (S4-26); ErrTooMany at the bound.
	Register = otp.Call[Experimental, struct{}]
	// Experiments lists the experimental features by name (S4-27).
	Experiments = otp.Call[ExperimentsRequest, []Experimental]
)

// DiscoverRequest names a server of a tenant.
type DiscoverRequest struct{ Tenant, Server string }

// SubscribeRequest names the row that subscribes.
type SubscribeRequest struct {
	Tenant string // tenant of the row; empty for the host's own
	Ref    otp.Ref
}

// NotifyRequest names a capability and its new state.
type NotifyRequest struct {
	Name    string
	Enabled bool
}

// ExperimentsRequest has no fields.
type ExperimentsRequest struct{}

// Experimental is a feature outside of every revision. Its settings are passed to clients
// unchanged.
type Experimental struct {
	Name     string
	Settings jsontext.Value // an object
}

// Declared is sent by a tenant's catalogue when a server has declared its capabilities.
type Declared struct {
	Tenant, Server string
	Capabilities   jsontext.Value
}

// State is the difference between the registry and the protocol's own tables: capabilities that new
// sessions are not offered, and features that they are offered in addition.
type State struct {
	Disabled     []string
	Experimental []Experimental
}

// Changed is the message to subscribers.
type Changed struct {
	Name    string
	Enabled bool
	// Settings are those of an experimental feature; empty for a capability.
	Settings jsontext.Value
}
