// Package tenant is what one tenant of the host is: its name, its limits, its servers and its policies, as values, and the
// rules by which a path names it and by which callers share its upstream connections.
//
// It does not know where the values come from, who is calling, or that any process exists.
package tenant

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/terms"
)

// Default is the tenant that paths without a tenant segment mean.
const Default = "default"

// Tenant is one tenant. It is never changed after it was made: a reload makes another.
type Tenant struct {
	Name        string
	Limits      Limits
	Negotiation protocol.Negotiation
	Terms       terms.Rules       // of the negotiation API
	Require     map[string]string // method -> client capability it needs here; empty = no such policy
	Servers     []Server          // in configuration order, which decides clashes of resource URIs
	// Removed are servers that reloads have removed, so that whoever asks for one is told. The last
	// removed comes first.
	Removed []string
}

// Limits bounds what one tenant may use and how long its callers wait.
type Limits struct {
	MaxSessions       int // open sessions; at the cap an idle one makes room
	MaxPending        int // requests in flight over all sessions
	MaxSessionPending int // requests in flight in one session

	MaxPrincipalSessions int // open sessions of one principal; 0 is its share of MaxSessions

	// Off where they are 0.
	MaxPrincipalPending        int           // requests in flight of one principal
	MaxConnections             int           // to the listener, by what their first request was for
	MaxRate                    int           // requests a second
	MaxPrincipalRate           int           // the same of one principal
	MaxInitializeRate          int           // sessions that begin, a second
	MaxPrincipalInitializeRate int           // the same of one principal
	SessionAge                 time.Duration // a session ends so long after it was opened

	SessionIdle    time.Duration // a session without request or open stream ends after it
	SessionInit    time.Duration // a session ends when it is not initialized by then
	CallTimeout    time.Duration // tools/call, prompts/get, resources/read; progress starts it anew
	CallTimeoutMax time.Duration // the same call at most, however much progress it reports
	RequestTimeout time.Duration // what the host itself asks an upstream: probes, pings
	ListTimeout    time.Duration // each page of a list that the host asks an upstream for
	ListWait       time.Duration // how long a list waits for servers that were never listed and are starting
	StartTimeout   time.Duration // an upstream from spawn to the end of its handshake
	IdleStop       time.Duration // a server that is not needed for so long ends; 0 is never, while sessions use it
	IdleRelease    time.Duration // a session without request or open stream lets go of its servers after it; 0 is never
	ParkTime       time.Duration // how long a call may wait for the user
	QuestionWait   time.Duration // how long calls wait for the user of another call
}

// Server is one upstream as the operator declared it. Exactly one of Command, URL and Builtin is set.
type Server struct {
	Name  string
	Share Share
	// Instances bounds how many instances of it serve those who share a connection, when it may ask them something and does not say whom.
	Instances int
	Mute      bool                 // it may ask clients nothing
	ShareLogs bool                 // whoever shares a connection hears and reads what may be about another's call
	Speak     protocol.Negotiation // which revisions it is spoken to in; zero for all
	Require   map[string]string    // beside Tenant.Require, and before it

	Command Secret            // a name found in PATH, or an absolute path; never a shell line
	Args    []Secret          //
	Env     map[string]Secret // added to the child's short default environment
	EnvPass []string          // names passed on from the host's own environment
	Cwd     Secret            // absolute; empty = the host's

	Files    int   // that a process of it may have open; Linux only, as is the next
	FileSize int64 // in bytes, of the largest file that it may write

	Memory    int64 // bytes that its processes may use together; 0 is no bound. Control groups only, as is the next
	Processes int   // and threads of it; 0 is no bound

	URL       Secret            // http or https
	Headers   map[string]Secret // sent with each request, by canonical name
	Transport string            // "sse" when the URL is known to be one of HTTP+SSE, else empty
	Proxy     Secret            // URL of a proxy, or DirectProxy; empty = what the environment says
	CA        Secret            // absolute path of a file with certificates of authorities beside those of the system

	Builtin string

	Replay       string // one of the words above
	StartTimeout time.Duration
	Start        string        // one of the words below
	IdleStop     time.Duration // as in Limits
	IdleRelease  time.Duration // as in Limits
	Intensity    Intensity
}

// Which tool calls are sent once more when the server died on them.
const (
	ReplayNever      = "never"      // none
	ReplayReadOnly   = "read_only"  // of tools with readOnlyHint
	ReplayIdempotent = "idempotent" // of these, and of tools with idempotentHint
)

// DirectProxy is the Server.Proxy that uses none, whatever the environment says.
const DirectProxy = "direct"

// When a server is started.
const (
	StartOnDemand = "on_demand" // when it is called, or listed for the first time
	StartEager    = "eager"     // with the host, and kept running
)

// Intensity is how many restarts within which time an upstream gets before it is given up for a while.
type Intensity struct {
	Restarts int
	Within   time.Duration
}

// Releases is how long a session may be without request or open stream before it lets go of the
// server; 0 is never. A server that keeps state for its session and cannot be gone on with is never
// let go of: the state would be lost. That is a program, a built-in server or one of HTTP+SSE that
// each session has for itself, and a program of which there may be one instance, which an operator
// says of those that keep state between calls. A session of Streamable HTTP is gone on with.
func (s Server) Releases() time.Duration {
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

// Link is the kind of connection the server is reached by.
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

// ServerNames are the names of all, in configuration order.
func (t *Tenant) ServerNames() (names []string) {
	for i := range t.Servers {
		names = append(names, t.Servers[i].Name)
	}
	return names
}

// server is nil where there is none. A Server is large, and a call asks twice: what is compared is not copied.
func (t *Tenant) server(name string) *Server {
	for i := range t.Servers {
		if s := &t.Servers[i]; s.Name == name {
			return s
		}
	}
	return nil
}

// Required returns the client capability that policy demands for a method sent to a server; ok is false where it demands none.
// The server may be "", for a method that reaches no server.
func (t *Tenant) Required(server, method string) (capability string, ok bool) {
	if s := t.server(server); s != nil && len(s.Require) > 0 {
		if capability, ok = s.Require[method]; ok {
			return capability, true
		}
	}
	capability, ok = t.Require[method]
	return capability, ok
}

// Requires lists the client capabilities that the policy of the tenant or of a server of it demands
// for some method, in order and each once.
func (t *Tenant) Requires() []string {
	all := slices.Collect(maps.Values(t.Require))
	for i := range t.Servers {
		all = slices.AppendSeq(all, maps.Values(t.Servers[i].Require))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Reconnects reports whether the connections to a server have to be replaced when it is declared so instead. What is not about them applies
// to those that there are.
func (s Server) Reconnects(so Server) bool {
	s.Require, so.Require = nil, nil
	return !reflect.DeepEqual(s, so)
}

// Another reports whether it is another program that way, and not the same one under other settings: what the one listed says nothing of the
// other.
func (s Server) Another(so Server) bool {
	return s.Command != so.Command || s.URL != so.URL || s.Builtin != so.Builtin || !slices.Equal(s.Args, so.Args)
}
