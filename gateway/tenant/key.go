package tenant

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"mcpd/protocol"
)

// Key identifies a connection to one server. Callers with equal keys share one connection.
type Key struct {
	Share     Share
	Principal string // the owner of the connection; empty when the tenant shares it
	Session   string // set if each session has its own connection
	// Fingerprint covers the client capabilities declared upstream.
	Fingerprint protocol.Fingerprint
	// Modern says that the callers speak a revision without handshake. Such a revision is tried
	// first with the server.
	Modern bool
	// Instance is the instance of the server; 0 is the first, which hands calls to the others.
	Instance uint8
	// Revision counts the changes of the server's declaration. A reload that changes the declaration
	// leads to other connections.
	Revision uint32
}

// First returns the key of the first instance.
func (k Key) First() Key {
	k.Instance = 0
	return k
}

// Group returns the key without the parts that differ between callers who share the server: the
// callers of one principal, or of the whole tenant, whatever they declared and whichever era they
// speak. Server.Instances bounds the processes of one group.
func (k Key) Group() Key {
	return Key{Share: k.Share, Principal: k.Principal, Session: k.Session, Revision: k.Revision}
}

// Shared returns the key of the connection that a caller with key k uses. If the server may have
// only one instance, all callers of a group share it.
func (s Server) Shared(k Key) Key {
	if s.Instances == 1 {
		return k.Group()
	}
	return k
}

// NewKey returns the key of a caller's connection. The argument share must be an applied one (see
// Share.Applied), never ByDefault. Parts that do not matter for this way of sharing are left out,
// so that callers who share have equal keys. A session's own connection needs no fingerprint,
// because the capabilities of a session never change.
func NewKey(share Share, principal, session string, fingerprint protocol.Fingerprint) Key {
	switch share {
	case BySession:
		return Key{Share: share, Principal: principal, Session: session}
	case ByPrincipal:
		return Key{Share: share, Principal: principal, Fingerprint: fingerprint}
	}
	return Key{Share: ByTenant, Fingerprint: fingerprint}
}

// String returns the key as the ID of a child. Distinct keys have distinct IDs, which consist of
// letters, digits and "-._=,". A session ID is shown as a digest, because it is as good as a
// credential. A principal that is long or has other characters is shown as a digest too.
func (k Key) String() string {
	id := k.Share.String()
	switch k.Share {
	case ByPrincipal:
		id += "=" + word(k.Principal)
	case BySession:
		id += "=" + digest(k.Session)
	}
	if k.Fingerprint != 0 {
		id += ",caps=" + k.Fingerprint.ID()
	}
	if k.Modern {
		id += ",modern"
	}
	if k.Instance > 0 {
		id += fmt.Sprintf(",instance=%d", k.Instance+1)
	}
	if k.Revision > 0 {
		id += fmt.Sprintf(",revision=%d", k.Revision+1)
	}
	return id
}

// maxWord keeps IDs readable in a tree and far below any bound on paths.
const maxWord = 48

// word returns s if it is short and plain. Otherwise it returns a dot and a digest; no plain word
// begins with a dot.
func word(s string) string {
	ok := s != "" && len(s) <= maxWord && s[0] != '.' && strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' &&
			r != '_' && r != '.'
	}) < 0
	if ok {
		return s
	}
	return "." + digest(s)
}

// digest returns 96 bits of a hash, enough that two values never collide by chance.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:12])
}

// Compare orders keys by the IDs of their rows.
func (k Key) Compare(o Key) int { return strings.Compare(k.String(), o.String()) }
