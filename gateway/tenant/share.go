package tenant

// Share says which callers share one connection to a server.
type Share uint8

// Ways to share.
const (
	ByDefault   Share = iota // decided by the link, see Applied
	ByTenant                 // all callers of the tenant
	ByPrincipal              // all sessions of one principal
	BySession                // no sharing: each session has its own connection
)

// Shares lists the words for Share, by value.
var Shares = []string{"auto", "tenant", "principal", "session"}

func (s Share) String() string { return Shares[s] }

// Link is the kind of connection by which a server is reached.
type Link uint8

// Kinds of link.
const (
	Stdio   Link = iota // a child process
	HTTP                // Streamable HTTP, or HTTP+SSE if that is detected
	SSE                 // HTTP+SSE of 2024-11-05
	Builtin             // inside this process
)

var links = []string{"stdio", "http", "sse", "builtin"}

func (l Link) String() string { return links[l] }

// defaults are the ways to share when the operator did not say. A remote server distinguishes its
// sessions, and a session inside this process costs next to nothing, so each session has its own
// connection. A child process is expensive, so all sessions of a principal share one. Two
// principals never share a process, because messages that the process sends on its own initiative
// name no owner. HTTP+SSE keeps a stream open for each connection, and is treated like a child
// process.
var defaults = []Share{
	Stdio:   ByPrincipal,
	HTTP:    BySession,
	SSE:     ByPrincipal,
	Builtin: BySession,
}

// Applied returns how connections are shared over a link. It does not depend on the server's era:
// in both eras a message that names no request, such as a log line on a pipe, has no owner.
func (s Share) Applied(l Link) Share {
	if s != ByDefault {
		return s
	}
	return defaults[l]
}
