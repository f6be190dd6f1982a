package tenant

import (
	"slices"
	"strings"
)

// Kind is the purpose of a path of the MCP listener.
type Kind uint8

// Kinds of path.
const (
	MCP      Kind = iota // the Streamable HTTP endpoint
	Events               // the stream of HTTP+SSE
	Messages             // the endpoint to which clients of HTTP+SSE post
)

// endings are the ends of the paths of each kind.
var endings = []string{MCP: "/mcp", Events: "/sse", Messages: "/sse/message"}

// Route is the meaning of a path. Server is "" if the path means all servers of the tenant as
// one.
type Route struct {
	Kind   Kind
	Tenant string
	Server string
}

// bases are the parts of paths before the ending. A segment in braces stands for a name. Other
// segments are compared byte by byte.
var bases = []string{"", "/{server}", "/t/{tenant}", "/t/{tenant}/{server}"}

// MaxPath bounds a path in bytes. It allows two names, the fixed segments, and as much again for
// future paths.
const MaxPath = 256

// ParsePath parses the path of a request as it was sent, before any percent-decoding. A path with
// an escaped, empty or dotted segment, or with a fixed segment in another case, names nothing.
// One slash at the end is ignored. The caller has to check that the tenant and the server exist.
func ParsePath(escaped string) (Route, bool) {
	if len(escaped) > MaxPath {
		return Route{}, false
	}
	escaped = strings.TrimSuffix(escaped, "/")
	for kind, ending := range endings {
		base, ok := strings.CutSuffix(escaped, ending)
		if !ok {
			continue
		}
		for _, pattern := range bases {
			route := Route{Kind: Kind(kind), Tenant: Default}
			if match(pattern, base, &route) {
				return route, true
			}
		}
	}
	return Route{}, false
}

// Path returns the shortest path that names the route.
func (r Route) Path() string {
	path := ""
	if r.Tenant != Default {
		path = "/t/" + r.Tenant
	}
	if r.Server != "" {
		path += "/" + r.Server
	}
	return path + endings[r.Kind]
}

func match(pattern, path string, route *Route) bool {
	for {
		var want, got string
		var moreWant, moreGot bool
		want, pattern, moreWant = segment(pattern)
		got, path, moreGot = segment(path)
		if moreWant != moreGot {
			return false
		}
		if !moreWant {
			return path == ""
		}
		switch want {
		case "{tenant}":
			if !ValidName(got) {
				return false
			}
			route.Tenant = got
		case "{server}":
			if !ValidServer(got) {
				return false
			}
			route.Server = got
		default:
			if want != got {
				return false
			}
		}
	}
}

// segment cuts the first "/segment" off a path; ok is false if there is none.
func segment(path string) (first, rest string, ok bool) {
	if !strings.HasPrefix(path, "/") {
		return "", path, false
	}
	if end := strings.IndexByte(path[1:], '/'); end >= 0 {
		return path[1 : 1+end], path[1+end:], true
	}
	return path[1:], "", true
}

// wellKnown and authorizations are parts of the paths where clients look for an authorization
// server, or register with one. They stand before or after the path of an endpoint.
var (
	wellKnown      = []string{"/.well-known/oauth-", "/.well-known/openid-configuration"}
	authorizations = []string{"/register", "/authorize", "/token"}
)

// SeeksAuthorization reports whether a client looks for an authorization server at path. One
// slash at the end is ignored.
func SeeksAuthorization(path string) bool {
	path = strings.TrimSuffix(path, "/")
	return slices.ContainsFunc(wellKnown, func(a string) bool { return strings.Contains(path, a) }) ||
		slices.ContainsFunc(authorizations, func(a string) bool { return strings.HasSuffix(path, a) })
}
