package tenant

// Share says who shares one connection to a server.
type Share uint8

// Ways to share.
const (
	ByDefault   Share = iota // decided by the link, see Applied
	ByTenant                 // everyone in the tenant
	ByPrincipal              // all sessions of one principal
	BySession                // nobody: one connection a session
)

// Shares lists the words for Share, by value.
var Shares = []string{"auto", "tenant", "principal", "session"}

func (s Share) String() string { return Shares[s] }

// Link is the kind of connection a server is reached by.
type Link uint8

// Kinds of link.
const (
	Stdio   Link = iota // a child process
	HTTP                // Streamable HTTP, or HTTP+SSE where that is found out
	SSE                 // HTTP+SSE of 2024-11-05
	Builtin             // inside this process
)

var links = []string{"stdio", "http", "sse", "builtin"}

func (l Link) String() string { return links[l] }

// defaults say how a connection is shared when the operator did not say. A remote server knows its sessions
// apart, and a session inside this process costs next to nothing, so each caller has its own. A child process is dear: one serves
// all sessions of a principal, but never two principals, because what it says on its own initiative names no owner. HTTP+SSE holds a stream
// open for each connection, and is treated alike.
var defaults = []Share{
	Stdio:   ByPrincipal,
	HTTP:    BySession,
	SSE:     ByPrincipal,
	Builtin: BySession,
}

// Applied returns how connections are shared over a link. It does not depend on the server's era: what a server says without naming a request,
// such as a log line on a pipe, has no owner in either.
func (s Share) Applied(l Link) Share {
	if s != ByDefault {
		return s
	}
	return defaults[l]
}
