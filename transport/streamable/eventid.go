package streamable

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"mcpd/protocol/jsonrpc"
)

// eventID names one event of one session: the session, the stream it went out on, and its place in the stream's order. Clients treat it as
// opaque.
//
// The nonce begins with a digest of the session's id, so that an id of one session means nothing in another; that the asker owns the session
// at all was settled before an id is looked at. The rest of it is random: a session that outlives its host begins its streams anew, and the
// event ids of its earlier life are told apart from those of this one.
type eventID struct {
	kind   streamKind
	stream uint32
	seq    uint64 // everything up to and including this place was received
	asks   string // of the reply to one request: its id, encoded, so that its client can be answered in the session's next life
}

// streamKind is the letter of a stream in its event ids.
type streamKind byte

const (
	postStream       streamKind = 'p' // the reply to one POST
	standaloneStream streamKind = 'g' // a GET
	channelStream    streamKind = 'c' // that of a client of HTTP+SSE, whose ids are of another form: see appendPlace
	answeredStream   streamKind = 'a' // the reply to one POST at its end: whoever comes back with such an id has the answer
)

// nonceBytes is half of a nonce: enough that two sessions of one principal, or two lives of a session, do not meet by chance. The id stays
// short, since it is on every event.
const nonceBytes = 4

// maxAsks is the longest request id that event ids carry; clients number theirs. A longer one is left out.
const maxAsks = 40

// maxEventID bounds what is read from a Last-Event-ID header; an id of ours has at most 16+1+1+7+1+13+1+54 bytes.
const maxEventID = 100

var errEventID = errors.New("not an event id of this session")

// newNonce is the nonce of a session's life.
func newNonce(session string) string {
	sum := sha256.Sum256([]byte("events of " + session))
	var b [nonceBytes]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(sum[:nonceBytes]) + hex.EncodeToString(b[:])
}

// earlier reports whether one nonce is of the same session as another, and of another life.
func earlier(nonce, now string) bool {
	return nonce != now && len(nonce) == len(now) && nonce[:2*nonceBytes] == now[:2*nonceBytes]
}

// asking is a request id as event ids carry it; empty when it is too long.
func asking(id jsonrpc.ID) string {
	if raw := id.Raw(); len(raw) <= maxAsks {
		return base64.RawURLEncoding.EncodeToString([]byte(raw))
	}
	return ""
}

// asked is the request id that asking made it of.
func (id eventID) asked() (jsonrpc.ID, bool) {
	raw, err := base64.RawURLEncoding.DecodeString(id.asks)
	if err != nil {
		return jsonrpc.ID{}, false
	}
	ask, err := jsonrpc.ParseID(raw)
	return ask, err == nil && !ask.IsZero()
}

// append writes the id as it stands after "id: ".
func (id eventID) append(dst []byte, nonce string) []byte {
	dst = append(dst, nonce...)
	dst = append(dst, '.', byte(id.kind))
	dst = strconv.AppendUint(dst, uint64(id.stream), 36)
	dst = append(dst, '.')
	dst = strconv.AppendUint(dst, id.seq, 36)
	if id.asks != "" {
		dst = append(dst, '.')
		dst = append(dst, id.asks...)
	}
	return dst
}

// parseEventID reads an id. Of which session and life it is, its nonce says.
func parseEventID(text string) (id eventID, nonce string, err error) {
	parts := strings.Split(text, ".")
	if len(text) > maxEventID || len(parts) < 3 || len(parts) > 4 || len(parts[0]) != 4*nonceBytes || parts[1] == "" {
		return id, "", errEventID
	}
	id.kind = streamKind(parts[1][0])
	stream, errStream := strconv.ParseUint(parts[1][1:], 36, 32)
	seq, errSeq := strconv.ParseUint(parts[2], 36, 64)
	if errStream != nil || errSeq != nil || id.kind != postStream && id.kind != standaloneStream && id.kind != answeredStream {
		return id, "", errEventID
	}
	id.stream, id.seq = uint32(stream), seq
	if len(parts) == 4 {
		id.asks = parts[3]
	}
	return id, parts[0], nil
}
