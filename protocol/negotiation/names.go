// Package negotiation implements the rules of the negotiation API, which is mcpd's own HTTP
// interface. In it, a client declares its capabilities and receives those of the server. The
// package parses the declaration, writes the response, and decides which paths of the API a client
// may use.
//
// The package does not know HTTP, sessions, or the tenant whose rules it applies.
package negotiation

// The capabilities of a client that change how it is served. Any other name has no effect, unless a
// rule requires it.
const (
	Sampling      = "sampling"          // also declared to servers, which may then request sampling
	Notifications = "notifications"     // permits subscriptions; parameter "level": also log messages
	Progress      = "progress_tracking" // permits progress reports during a call
	Cancellation  = "cancellation"      // a client that disconnects cancels its call
	Streaming     = "streaming"         // the response to a call may be a stream
	Resume        = "session_resume"    // a negotiation with the session's id keeps the session
)

// Basic is the only capability of an anonymous client.
const Basic = "basic"

// mcpCapabilities lists the capabilities that MCP itself defines. They are declared to servers,
// with their parameters.
var mcpCapabilities = []string{Sampling, "elicitation", "roots"}

// offer is one capability of the server.
type offer struct {
	name, description string
	path              string // the path that uses it
	place             PathKind
	rule              bool   // the rule of place decides who may use it
	needs             string // the capability that the MCP servers must have declared; "" for none
}

// offers lists the server's capabilities. It excludes prompts of MCP and other names that this API
// offers no use for.
var offers = []offer{
	{"tools", "calls a tool: arguments in, its result out", "tool/{name}", Tool, true, ""},
	{"resources", "reads a resource", "resource/{uri}", Resource, true, ""},
	{"subscriptions", "tells of changes of a resource, as a stream", "subscription/{uri}",
		Subscription, true, "resources.subscribe"},
	{"streaming", "answers a call with a stream, when its client takes one", "", 0, false, ""},
	{"notifications", "tells of progress, log lines and changes in streams", "", 0, false, ""},
}
