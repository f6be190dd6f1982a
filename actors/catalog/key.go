package catalog

import (
	"slices"

	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
)

// Key returns the key of the connection that carries a caller's requests to a server. The key omits
// the revision of the server's declaration, because a session listens to the connections of every
// revision.
func Key(s tenant.Server, c Caller) tenant.Key {
	if c.Peer {
		return ListKey(s, c)
	}
	k := tenant.NewKey(s.Share.Applied(s.Link()), c.Principal, c.Session,
		visibleFingerprint(s, c.fingerprint()))
	k.Modern = c.Modern
	return s.Shared(k)
}

// visibleFingerprint is the fingerprint of the client capabilities that a server may know of, and
// declared returns these capabilities.
func visibleFingerprint(s tenant.Server, f protocol.Fingerprint) protocol.Fingerprint {
	if s.DenyRequests {
		return f.WithoutServerRequests()
	}
	return f
}

func visibleCapabilities(s tenant.Server,
	c protocol.ClientCapabilities) protocol.ClientCapabilities {
	if s.DenyRequests {
		c = c.Without("roots", "sampling", "elicitation")
	}
	return client.PassableCapabilities(c)
}

// ListKey returns the key of the connection that a caller's lists of a server come from. It is
// never a session's own connection, which is opened by its first call and not by a look at the
// lists.
func ListKey(s tenant.Server, c Caller) tenant.Key {
	return listKey(s, c.Principal, c.fingerprint(), c.Modern)
}

func listKey(
	s tenant.Server, principal string, fingerprint protocol.Fingerprint, modern bool,
) tenant.Key {
	share := s.Share.Applied(s.Link())
	if share == tenant.BySession {
		share = tenant.ByPrincipal
	}
	k := tenant.NewKey(share, principal, "", visibleFingerprint(s, fingerprint))
	k.Modern = modern
	return s.Shared(k)
}

// Keys returns the keys of the connections to which a caller listens: those that carry its
// requests, and those that its lists come from. There are few distinct keys, however many servers
// there are.
func Keys(servers []tenant.Server, c Caller) (keys []tenant.Key) {
	// kind has the settings of a server that decide its keys.
	type kind struct {
		share     tenant.Share
		mute, one bool
	}
	c, known := c.withFingerprint(), map[kind]bool{}
	for i := range servers {
		s := &servers[i]
		if c.Server != "" && s.Name != c.Server {
			continue
		}
		k := kind{s.Share.Applied(s.Link()), s.DenyRequests, s.Instances == 1}
		if known[k] {
			continue
		}
		known[k] = true
		for _, key := range []tenant.Key{Key(*s, c), ListKey(*s, c)} {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}
