package catalog

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// position is a place in a list: after the item with that server and the server's own name of it.
// The zero position is before all items.
type position struct{ server, name string }

// cursorDigest is the length in bytes of a cursor's digest. A cursor holds a position and a
// digest of the position, the scope and the kind of list. It needs no secret, because its bearer
// may request the same items without it.
const cursorDigest = 16

func (l List) encodeCursor(scope string, at position) string {
	// No server has NUL in its name.
	text := at.server + "\x00" + at.name
	return base64.RawURLEncoding.EncodeToString(append(l.digest(scope, text), text...))
}

func (l List) decodeCursor(scope, cursor string) (at position, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) < cursorDigest {
		return position{}, false
	}
	text := string(raw[cursorDigest:])
	if at.server, at.name, ok = strings.Cut(text, "\x00"); !ok ||
		string(l.digest(scope, text)) != string(raw[:cursorDigest]) {
		return position{}, false
	}
	return at, true
}

func (l List) digest(scope, text string) []byte {
	h := sha256.New()
	h.Write([]byte{byte(l.kind)})
	h.Write([]byte(text))
	h.Write([]byte{0})
	h.Write([]byte(scope))
	return h.Sum(nil)[:cursorDigest]
}
