package catalog

import (
	merge "mcpd/gateway/catalog"
	"mcpd/protocol"
)

// group identifies callers that see the same view.
type group struct {
	principal, server string
	fingerprint       protocol.Fingerprint
	modern            bool
	withheld          string // see Catalog.withheld
	answers           bool   // see server.answers
	pending           string // first server that may own unknown URIs; see mayOwn
	own               string // session with lists of its own: see Catalog.ownLists
}

// mayOwn reports whether a server has not yet listed its resources to a caller, but may still do
// so. A quarantined server may not: only an operator or a rare probe brings it back.
func (c *Catalog) mayOwn(s *server, caller Caller) bool {
	key := s.listed(caller)
	if s.recovery.Quarantined(s.at(key)) {
		return false
	}
	l := s.lists[key]
	return l == nil || !l.known || l.resourcesUnknown()
}

// withheld reports whether the policy of a server hides a list from the caller, because its client
// lacks a required capability. On a transparent endpoint the request is refused instead; on the
// aggregate endpoint the server's items are left out.
func (c *Catalog) withheld(caller Caller, name string, k merge.Kind) bool {
	needs, ok := c.servers[name].config.Require[k.Method()]
	return ok && caller.Server == "" && !caller.Capabilities.Has(needs)
}

// group finds the group of a caller.
func (c *Catalog) group(caller Caller) group {
	g := group{
		principal: caller.Principal, server: caller.Server, fingerprint: caller.fingerprint(),
		modern: caller.Modern,
	}
	if c.hasOwn(caller) {
		g.own = caller.Session
	}
	if caller.Server != "" {
		g.answers = c.servers[caller.Server].reachable(caller)
	}
	for _, name := range c.scope(caller) {
		if g.pending == "" && caller.Server == "" && c.mayOwn(c.servers[name], caller) {
			g.pending = name
		}
		for _, k := range merge.Kinds() {
			if c.withheld(caller, name, k) {
				g.withheld += name + " " + k.String() + " "
			}
		}
	}
	return g
}

// scope lists the servers that a caller sees, in configuration order. The caller of scope must not
// change the slice.
func (c *Catalog) scope(caller Caller) []string {
	if caller.Server != "" {
		return []string{caller.Server}
	}
	return c.names
}
