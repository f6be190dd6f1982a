// Package terms is what the two sides of the negotiation API tell each other, and what comes of it: which capabilities a client
// declared, which the server has, and where one of the first is asked for (S3-11 to S3-17, S3-24).
//
// It does not know HTTP, sessions, or whose rules it applies.
package terms

// Capabilities that a client may declare and that change how it is served. Every other name is its own affair, unless a rule asks for it
// (S3-13, S3-14, S3-60).
const (
	Sampling      = "sampling"          // also told to servers, which may then ask for it
	Notifications = "notifications"     // subscriptions; and with a parameter "level", log lines of calls
	Progress      = "progress_tracking" // reports while a call is on its way
	Cancellation  = "cancellation"      // who hangs up cancels the call
	Streaming     = "streaming"         // calls may be answered as a stream
	Resume        = "session_resume"    // negotiating again with the session's id keeps the session
)

// Basic is all that an anonymous client can (S3-45).
const Basic = "basic"

// asked are the capabilities that MCP itself knows: servers hear of them, with their parameters.
var asked = []string{Sampling, "elicitation", "roots"}

// offer is one capability of the server.
type offer struct {
	name, description string
	path              string // where it is used
	place             Place
	rule              bool   // the rule of place decides who may
	needs             string // what the servers behind must have declared; "" for nothing
}

// offers are the server's capabilities (S3-11, S3-27). S3-12 has more names, and MCP has prompts: nothing could be done with them through
// this interface, so they are not told.
var offers = []offer{
	{"tools", "calls a tool: arguments in, its result out", "tool/{name}", Tool, true, ""},
	{"resources", "reads a resource", "resource/{uri}", Resource, true, ""},
	{"subscriptions", "tells of changes of a resource, as a stream", "subscription/{uri}", Subscription, true, "resources.subscribe"},
	{"streaming", "answers a call with a stream, when its client takes one", "", 0, false, ""},
	{"notifications", "tells of progress, log lines and changes in streams", "", 0, false, ""},
}
