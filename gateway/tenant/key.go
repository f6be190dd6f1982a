package tenant

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"mcpd/protocol"
)

// Key tells the connections to one server apart: callers with equal keys share one.
type Key struct {
	Share       Share
	Principal   string               // whose connection it is; empty when all share it
	Session     string               // set when shared by session
	Fingerprint protocol.Fingerprint // of the client capabilities declared upstream
	Modern      bool                 // the callers speak a revision without handshake, and the server is first asked for one
	Instance    uint8                // of the server; 0 is the first, which hands calls to the others
	Revision    uint32               // of the server's declaration: one that a reload changed has other connections
}

// First is the key of the first instance.
func (k Key) First() Key {
	k.Instance = 0
	return k
}

// Group is what the connections have in common of those who share the server: the same principal's, or
// the whole tenant's, whatever they declared and whichever era they speak. Server.Instances bounds the
// processes of one group.
func (k Key) Group() Key {
	return Key{Share: k.Share, Principal: k.Principal, Session: k.Session, Revision: k.Revision}
}

// Shared returns the key of the connection that a caller with key k uses. Where there may be one
// instance of a server, all of a group share it.
func (s Server) Shared(k Key) Key {
	if s.Instances == 1 {
		return k.Group()
	}
	return k
}

// NewKey returns the key of a caller's connection; share is an applied one, not ByDefault. Parts that do not matter for this way of
// sharing are left out, so that the keys of callers who share are equal. A session's capabilities never change: its own connection
// needs no fingerprint.
func NewKey(share Share, principal, session string, fingerprint protocol.Fingerprint) Key {
	switch share {
	case BySession:
		return Key{Share: share, Principal: principal, Session: session}
	case ByPrincipal:
		return Key{Share: share, Principal: principal, Fingerprint: fingerprint}
	}
	return Key{Share: ByTenant, Fingerprint: fingerprint}
}

// String returns the key as the id of a child: distinct keys have distinct ids, of letters, digits and "-._=," only. A session id is
// as good as a credential and a principal may be anything, so the former is shown as a digest, and so is whatever is long.
func (k Key) String() string {
	id := k.Share.String()
	switch k.Share {
	case ByPrincipal:
		id += "=" + word(k.Principal)
	case BySession:
		id += "=" + digest(k.Session)
	}
	if k.Fingerprint != 0 {
		id += fmt.Sprintf(",caps=%02x", uint64(k.Fingerprint))
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

// maxWord keeps ids readable in a tree and far below any bound on paths.
const maxWord = 48

// word returns s when it is short and plain, else a digest behind a dot, with which no plain word begins.
func word(s string) string {
	ok := s != "" && len(s) <= maxWord && s[0] != '.' && strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
	}) < 0
	if ok {
		return s
	}
	return "." + digest(s)
}

// digest is 96 bits: enough that two of our own never meet by chance.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:12])
}

// Compare orders keys by the rows that they stand for.
func (k Key) Compare(o Key) int { return strings.Compare(k.String(), o.String()) }
