package catalog

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
)

// PageSize is how many items a client gets at once. It is far above what most servers have, because many clients never ask for a
// second page.
const PageSize = 1000

// List is one list, ready to be sent. It is never changed after it was made.
type List struct {
	kind   Kind
	items  []jsontext.Value
	digest [sha256.Size]byte // of the items in order; only where there is more than one page
	whole  jsontext.Value    // the result, where there is one page
}

// NewList makes a list of items, which are kept and not copied.
func NewList(k Kind, items []jsontext.Value) List {
	l := List{kind: k, items: items}
	if len(items) <= PageSize {
		l.whole = l.result(items, "")
		return l
	}
	h := sha256.New()
	for _, item := range items {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(item)))
		h.Write(size[:])
		h.Write(item)
	}
	h.Sum(l.digest[:0])
	return l
}

// Whole is how many bytes the list keeps beside its items.
func (l List) Whole() int { return len(l.whole) }

// Items returns the items, in order.
func (l List) Items() []jsontext.Value { return l.items }

// Page returns the result of a list request; cursor is that of the request, "" for none. Scope is who may use the cursors: whoever else
// presents one, or presents it after the list has changed, gets an error of the condition state_invalid, which is -32602. The result is
// shared: it is not to be changed.
func (l List) Page(scope, cursor string) (jsontext.Value, error) {
	if cursor == "" && l.whole != nil {
		return l.whole, nil
	}
	from := 0
	if cursor != "" {
		var ok bool
		if from, ok = l.open(scope, cursor); !ok {
			return nil, protocol.StateInvalid("cursor")
		}
	}
	to := min(from+PageSize, len(l.items))
	next := ""
	if to < len(l.items) {
		next = l.seal(scope, to)
	}
	return l.result(l.items[from:to], next), nil
}

func (l List) result(items []jsontext.Value, next string) jsontext.Value {
	size := 64
	for _, item := range items {
		size += len(item) + 1
	}
	out := make([]byte, 0, size)
	out = append(append(append(out, `{"`...), kinds[l.kind].member...), `":[`...)
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, item...)
	}
	out = append(out, ']')
	if next != "" {
		out = append(append(append(out, `,"nextCursor":"`...), next...), '"')
	}
	return append(out, '}')
}

// A cursor is a position in the list and a digest of that, the scope and the list. It holds no secret and needs none: it opens nothing
// that its bearer may not ask for anyway, and one that was made up fits no list.
const cursorDigest = 16

func (l List) seal(scope string, position int) string {
	cursor := binary.BigEndian.AppendUint32(nil, uint32(position))
	return base64.RawURLEncoding.EncodeToString(append(cursor, l.sum(scope, cursor)...))
}

func (l List) open(scope, cursor string) (position int, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) != 4+cursorDigest || string(l.sum(scope, raw[:4])) != string(raw[4:]) {
		return 0, false
	}
	position = int(binary.BigEndian.Uint32(raw))
	return position, position > 0 && position < len(l.items) && position%PageSize == 0
}

func (l List) sum(scope string, position []byte) []byte {
	h := sha256.New()
	h.Write(l.digest[:])
	h.Write([]byte{byte(l.kind)})
	h.Write(position)
	h.Write([]byte(scope))
	return h.Sum(nil)[:cursorDigest]
}
