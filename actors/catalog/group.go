package catalog

import (
	merge "mcpd/gateway/catalog"
	"mcpd/protocol"
)

// group is the callers who see the same.
type group struct {
	principal, server string
	fingerprint       protocol.Fingerprint
	modern            bool
	withheld          string // see Catalog.withheld
	answers           bool   // see server.answers
	pending           string // the first server that may have URIs which nobody knows; see mayOwn
	own               string // the session that has lists of its own: see Catalog.ownLists
}

// mayOwn reports whether a server has not told a caller its resources yet, and may still do so. One
// that is quarantined may not: nothing brings it back but an operator or a rare probe.
func (c *Catalog) mayOwn(s *server, caller Caller) bool {
	key := s.listed(caller)
	if s.recovery.Quarantined(s.at(key)) {
		return false
	}
	l := s.lists[key]
	return l == nil || !l.known || l.owesResources()
}

// withheld reports whether the policy of a server keeps a list from clients that cannot do what the
// caller cannot. Who sees the server alone is refused; in the list of all, what it has is left out.
func (c *Catalog) withheld(caller Caller, name string, k merge.Kind) bool {
	needs, ok := c.servers[name].config.Require[k.Method()]
	return ok && caller.Server == "" && !caller.Capabilities.Has(needs)
}

// group is whose view a caller sees.
func (c *Catalog) group(caller Caller) group {
	g := group{
		principal: caller.Principal, server: caller.Server, fingerprint: caller.fingerprint(),
		modern: caller.Modern,
	}
	if c.hasOwn(caller) {
		g.own = caller.Session
	}
	if caller.Server != "" {
		g.answers = c.servers[caller.Server].answers(caller)
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

// scope is the servers a caller sees, in configuration order. It must not be changed.
func (c *Catalog) scope(caller Caller) []string {
	if caller.Server != "" {
		return []string{caller.Server}
	}
	return c.names
}
