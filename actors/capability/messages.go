package capability

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/supervisor/otp"
)

// Info describes one capability the host knows of (S4-21).
type Info struct {
	Name         string
	Version      string   // of the capability itself, not of the protocol (S0-55)
	Side         string   // "client" or "server": who declares it
	Since        string   // first revision of the protocol that has it
	Required     bool     // a peer without it cannot be served
	Dependencies []string // capabilities it makes no sense without
	Description  string
	Flags        []string // its members that switch something on, as "listChanged"
	Enabled      bool
}

// The calls that the registry answers.
type (
	// Discover asks for what a server declared last (S4-22). The answer is its capabilities as it wrote them, or ErrNotFound.
	Discover = otp.Call[DiscoverRequest, jsontext.Value]
	// Query asks for one capability by name (S4-23); ErrNotFound when it is unknown.
	Query = otp.Call[string, Info]
	// Subscribe has every change sent to a row as Changed, until the row is gone (S4-24). For monitoring; a session's own
	// capabilities never change (S4-33). The answer is how things stand.
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

// SubscribeRequest names the row that wants to hear of changes.
type SubscribeRequest struct {
	Tenant string // whose row it is; empty for the host's
	Ref    otp.Ref
}

// NotifyRequest names a capability and its new state.
type NotifyRequest struct {
	Name    string
	Enabled bool
}

// ExperimentsRequest has no fields.
type ExperimentsRequest struct{}

// Experimental is a feature outside of every revision: its settings are passed to clients as they are.
type Experimental struct {
	Name     string
	Settings jsontext.Value // an object
}

// Declared is what a tenant's catalogue tells the registry when a server has declared its capabilities.
type Declared struct {
	Tenant, Server string
	Capabilities   jsontext.Value
}

// State is what of the registry differs from the protocol's own tables: what new sessions are to be offered less, or more.
type State struct {
	Disabled     []string
	Experimental []Experimental
}

// Changed is what a subscriber receives.
type Changed struct {
	Name    string
	Enabled bool
	// Settings are those of an experimental feature; empty for anything else.
	Settings jsontext.Value
}
