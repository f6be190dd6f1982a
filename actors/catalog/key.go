package catalog

import (
	"slices"

	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
)

// Key is the connection that a caller's requests to a server go through, whatever the revision of
// its declaration. Who listens to the connections of a server listens to those of every revision.
func Key(s tenant.Server, c Caller) tenant.Key {
	if c.Peer {
		return ListKey(s, c)
	}
	k := tenant.NewKey(s.Share.Applied(s.Link()), c.Principal, c.Session, shown(s, c.fingerprint()))
	k.Modern = c.Modern
	return s.Shared(k)
}

// shown is the fingerprint of what a server may know of a client's capabilities, and declared are
// these.
func shown(s tenant.Server, f protocol.Fingerprint) protocol.Fingerprint {
	if s.Mute {
		return f.Unasked()
	}
	return f
}

func declared(s tenant.Server, c protocol.ClientCapabilities) protocol.ClientCapabilities {
	if s.Mute {
		c = c.Without("roots", "sampling", "elicitation")
	}
	return client.Carried(c)
}

// ListKey is the connection that what a caller sees of a server comes from. A session's own
// connection is opened by its first call, not to look what there is.
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
	k := tenant.NewKey(share, principal, "", shown(s, fingerprint))
	k.Modern = modern
	return s.Shared(k)
}

// Keys are the connections that a caller hears of: the ones that its requests go through, and the
// ones that its lists come from. There are few of them, however many servers there are.
func Keys(servers []tenant.Server, c Caller) (keys []tenant.Key) {
	// kind is all of a server that its keys depend on.
	type kind struct {
		share     tenant.Share
		mute, one bool
	}
	c, known := c.known(), map[kind]bool{}
	for i := range servers {
		s := &servers[i]
		if c.Server != "" && s.Name != c.Server {
			continue
		}
		k := kind{s.Share.Applied(s.Link()), s.Mute, s.Instances == 1}
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
