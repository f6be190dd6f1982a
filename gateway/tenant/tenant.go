// Package tenant describes one tenant of the host as values: its name, limits, servers and
// policies. It also has the rules by which a path names a tenant and by which callers share
// connections to servers.
//
// It does not know where the values come from, who is calling, or that any process exists.
package tenant

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/negotiation"
)

// Default is the tenant of paths without a tenant segment.
const Default = "default"

// Tenant is one tenant. It is immutable; a reload makes a new one.
type Tenant struct {
	Name             string
	Limits           Limits
	Negotiation      protocol.Negotiation
	NegotiationRules negotiation.Rules // of the negotiation API
	// Require maps a method to the client capability that it requires; empty for no policy.
	Require map[string]string
	// Servers are in configuration order, which decides clashes of resource URIs.
	Servers []Server
	// Removed are servers that reloads have removed, so that callers of a removed server get a
	// specific error. The server that was removed last comes first.
	Removed []string
}

// Limits bounds what one tenant may use and how long its callers wait.
type Limits struct {
	MaxSessions       int // open sessions; at the cap an idle session is evicted
	MaxPending        int // requests in flight over all sessions
	MaxSessionPending int // requests in flight in one session

	MaxPrincipalSessions int // open sessions of one principal; 0 is its share of MaxSessions

	// 0 turns each of these limits off.
	MaxPrincipalPending        int           // requests in flight of one principal
	MaxConnections             int           // connections, by the target of their first request
	MaxRate                    int           // requests a second
	MaxPrincipalRate           int           // requests a second of one principal
	MaxInitializeRate          int           // new sessions a second
	MaxPrincipalInitializeRate int           // new sessions a second of one principal
	SessionAge                 time.Duration // a session ends this long after it was opened

	SessionIdle    time.Duration // a session without request or open stream ends after this time
	SessionInit    time.Duration // a session ends if it is not initialized within this time
	CallTimeout    time.Duration // for tools/call, prompts/get, resources/read; progress restarts it
	CallTimeoutMax time.Duration // for the same call in all, however much progress it reports
	RequestTimeout time.Duration // for requests of the host itself to a server: probes, pings
	ListTimeout    time.Duration // for each page of a list that the host requests from a server
	// ListWait is how long a list waits for servers that are starting and were never listed.
	ListWait     time.Duration
	StartTimeout time.Duration // for a server from spawn to the end of its handshake
	// IdleStop is how long a server may be unneeded before it ends; 0 is never, while sessions use
	// it.
	IdleStop time.Duration
	// A session without request or open stream releases its servers after IdleRelease; 0 is never.
	IdleRelease  time.Duration
	InputTimeout time.Duration // how long a call may wait for the user
	QuestionWait time.Duration // how long calls wait for the user of another call
}

// Server is one server as the operator declared it. Exactly one of Command, URL and Builtin is
// set.
type Server struct {
	Name  string
	Share Share
	// Instances bounds the instances of the server for the callers who share a connection. More than
	// one is used when the server may send requests to clients without saying which client it means.
	Instances    int
	DenyRequests bool // the server may send no requests to clients
	// ShareLogs lets callers who share a connection receive log lines and texts that may be about
	// another caller's call.
	ShareLogs bool
	// Negotiation selects the revisions in which the server is spoken to; zero for all.
	Negotiation protocol.Negotiation
	Require     map[string]string // checked before Tenant.Require

	// Command is a name found in PATH, or an absolute path; never a shell command line.
	Command Secret
	Args    []Secret
	Env     map[string]Secret // added to the child's short default environment
	EnvPass []string          // names passed on from the host's own environment
	Cwd     Secret            // absolute path; empty for the host's own

	// Files bounds the open files of each of its processes; Linux only, as is FileSize.
	Files    int
	FileSize int64 // bytes of the largest file that it may write

	// Memory is how many bytes its processes may use together; 0 is no bound. It needs control
	// groups, as does Processes.
	Memory    int64
	Processes int // processes and threads that it may have; 0 is no bound

	URL       Secret            // http or https
	Headers   map[string]Secret // sent with each request, by canonical name
	Transport string            // "sse" if the URL is known to be one of HTTP+SSE, else empty
	// Proxy is the URL of a proxy, or DirectProxy; empty for the proxy of the environment.
	Proxy Secret
	// CA is the absolute path of a file with certificates of authorities, beside those of the
	// system.
	CA Secret

	Builtin string

	Replay       string // ReplayNever, ReplayReadOnly or ReplayIdempotent
	StartTimeout time.Duration
	Start        string        // StartOnDemand or StartEager
	IdleStop     time.Duration // as in Limits
	IdleRelease  time.Duration // as in Limits
	Intensity    Intensity
}

// Values of Server.Replay: the tool calls that are retried after the server died during them.
const (
	ReplayNever      = "never"      // no calls
	ReplayReadOnly   = "read_only"  // calls of tools with readOnlyHint
	ReplayIdempotent = "idempotent" // the same, and calls of tools with idempotentHint
)

// DirectProxy is the Server.Proxy for connections without a proxy, whatever the environment says.
const DirectProxy = "direct"

// Values of Server.Start: the time at which a server is started.
const (
	StartOnDemand = "on_demand" // when it is called, or listed for the first time
	StartEager    = "eager"     // with the host, and kept running
)

// Intensity is the number of restarts within a time that a server may have before it is given up
// for a while.
type Intensity struct {
	Restarts int
	Within   time.Duration
}

// ReleaseAfter returns how long a session may be without request or open stream before it releases
// the server; 0 is never. A server that keeps state for its session and cannot be resumed is
// never released, because the state would be lost. Such servers are programs, built-in servers
// and servers of HTTP+SSE with a connection for each session. A program with at most one instance
// counts too, because operators set that bound for programs that keep state between calls. A
// session of Streamable HTTP can be resumed.
func (s Server) ReleaseAfter() time.Duration {
	own := s.Share.Applied(s.Link()) == BySession
	switch s.Link() {
	case Stdio:
		own = own || s.Instances == 1
	case HTTP:
		own = false
	}
	if own {
		return 0
	}
	return s.IdleRelease
}

// Link returns the kind of connection by which the server is reached.
func (s Server) Link() Link {
	switch {
	case s.Builtin != "":
		return Builtin
	case s.Transport != "":
		return SSE
	case !s.URL.IsZero():
		return HTTP
	}
	return Stdio
}

// Server returns the server of that name.
func (t *Tenant) Server(name string) (Server, bool) {
	if s := t.server(name); s != nil {
		return *s, true
	}
	return Server{}, false
}

// ServerNames returns the names of all servers, in configuration order.
func (t *Tenant) ServerNames() (names []string) {
	for i := range t.Servers {
		names = append(names, t.Servers[i].Name)
	}
	return names
}

// server returns the server of that name, or nil. It returns a pointer, because a Server is large
// and each call looks it up twice.
func (t *Tenant) server(name string) *Server {
	for i := range t.Servers {
		if s := &t.Servers[i]; s.Name == name {
			return s
		}
	}
	return nil
}

// Required returns the client capability that the policy requires for a method sent to a server.
// Ok is false if it requires none. The server may be "", for a method that reaches no server.
func (t *Tenant) Required(server, method string) (capability string, ok bool) {
	if s := t.server(server); s != nil && len(s.Require) > 0 {
		if capability, ok = s.Require[method]; ok {
			return capability, true
		}
	}
	capability, ok = t.Require[method]
	return capability, ok
}

// Requires lists the client capabilities that the policy of the tenant or of one of its servers
// requires for some method, in order and without duplicates.
func (t *Tenant) Requires() []string {
	all := slices.Collect(maps.Values(t.Require))
	for i := range t.Servers {
		all = slices.AppendSeq(all, maps.Values(t.Servers[i].Require))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// NeedsReconnect reports whether the connections to a server have to be replaced when the
// declaration changes to so. Changes that do not affect connections apply to the existing ones.
func (s Server) NeedsReconnect(so Server) bool {
	s.Require, so.Require = nil, nil
	return !reflect.DeepEqual(s, so)
}

// IsOtherProgram reports whether so is another program, and not the same one with other settings.
// The lists of one then say nothing about the lists of the other.
func (s Server) IsOtherProgram(so Server) bool {
	return s.Command != so.Command || s.URL != so.URL || s.Builtin != so.Builtin ||
		!slices.Equal(s.Args, so.Args)
}
