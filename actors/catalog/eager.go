package catalog

import (
	"cmp"
	"maps"
	"slices"

	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// MaxEager bounds the connections to one server that are opened before anyone asks for them. Each
// may be a process.
const MaxEager = 16

// eager opens connections to a server with eager start. For a principal without any connection, it
// opens those that the principal's clients had before. If there were none, it opens one for a
// client without capabilities.
func (c *Catalog) eager(s *server) {
	if s.config.Start != tenant.StartEager || s.unconfigured || s.sup == (otp.Ref{}) {
		return
	}
	wanted := map[tenant.Key]protocol.ClientCapabilities{}
	listed := map[string]bool{}
	for key, l := range s.lists {
		if listKey(s.config, key.Principal, key.Fingerprint, key.Modern) == key {
			wanted[key], listed[key.Principal] = l.declare, true
		}
	}
	for _, principal := range c.o.Principals() {
		if key := listKey(s.config, principal, 0, false); !listed[key.Principal] {
			wanted[key] = protocol.ClientCapabilities{}
		}
	}
	keys := slices.SortedFunc(maps.Keys(wanted), func(a, b tenant.Key) int {
		return cmp.Compare(a.String(), b.String())
	})
	keys = slices.DeleteFunc(keys, func(key tenant.Key) bool { return s.hasShared(key.Principal) })
	for _, key := range keys[:min(len(keys), MaxEager)] {
		c.connect(s, s.at(key), pending{nil, Caller{Principal: key.Principal, Capabilities: wanted[key]}})
	}
}

// hasShared reports whether a shared connection of a principal exists or is being opened.
func (s *server) hasShared(principal string) bool {
	for key := range s.conns {
		if s.shared(key, principal) {
			return true
		}
	}
	for key := range s.awaitingStart {
		if s.shared(key, principal) {
			return true
		}
	}
	return false
}

func (s *server) shared(key tenant.Key, principal string) bool {
	return key.Principal == principal && key.Share != tenant.BySession && key.Instance == 0 &&
		s.current(key)
}

// keptIdle reports whether an unused connection is kept. That is so for the last one of a principal
// to a server with eager start.
func (s *server) keptIdle(key tenant.Key) bool {
	if s.config.Start != tenant.StartEager || !s.shared(key, key.Principal) {
		return false
	}
	for other := range s.conns {
		if other != key && s.shared(other, key.Principal) {
			return false
		}
	}
	return true
}
