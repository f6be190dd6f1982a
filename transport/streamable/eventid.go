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

// eventID identifies one event of one session: the session, the stream that carried it, and its
// sequence number in that stream. Clients treat it as opaque.
//
// The nonce begins with a digest of the session's id, so that an id of one session is invalid in
// another. Ownership of the session is checked before an event id is read. The rest of the nonce is
// random: a session that outlives its host starts its streams anew, and the random part tells event
// ids of an earlier host process from those of the current one.
type eventID struct {
	kind   streamKind
	stream uint32
	seq    uint64 // everything up to and including this number was received
	// requestID is the encoded id of the request that the stream replies to, so that its client can be
	// answered after a restart of the host.
	requestID string
}

// streamKind is the letter for the kind of a stream in its event ids.
type streamKind byte

const (
	postStream       streamKind = 'p' // the reply to one POST
	standaloneStream streamKind = 'g' // a GET
	// The stream of an HTTP+SSE client, whose ids have another form: see appendPlace.
	channelStream streamKind = 'c'
	// A completed reply to one POST: a client that sends such an id has the answer.
	answeredStream streamKind = 'a'
)

// nonceBytes is half the length of a nonce. It makes collisions between sessions of one principal,
// and between host processes, unlikely. The nonce is short because every event carries it.
const nonceBytes = 4

// maxAsks is the length of the longest encoded request id in event ids. Longer ids are left out.
// Clients usually number their requests, so ids are short.
const maxAsks = 40

// maxEventID limits the length of a Last-Event-ID header. An id of this host has at most
// 16+1+1+7+1+13+1+54 bytes.
const maxEventID = 100

var errEventID = errors.New("not an event id of this session")

// newNonce returns the nonce of a session for the current host process.
func newNonce(session string) string {
	sum := sha256.Sum256([]byte("events of " + session))
	var b [nonceBytes]byte
	rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
	return hex.EncodeToString(sum[:nonceBytes]) + hex.EncodeToString(b[:])
}

// earlier reports whether nonce belongs to the same session as now, but to an earlier host process.
func earlier(nonce, now string) bool {
	return nonce != now && len(nonce) == len(now) && nonce[:2*nonceBytes] == now[:2*nonceBytes]
}

// encodeRequestID encodes a request id for event ids. It returns "" if the id is too long.
func encodeRequestID(id jsonrpc.ID) string {
	if raw := id.Raw(); len(raw) <= maxAsks {
		return base64.RawURLEncoding.EncodeToString([]byte(raw))
	}
	return ""
}

// decodeRequestID decodes the request id that asking encoded.
func (id eventID) decodeRequestID() (jsonrpc.ID, bool) {
	raw, err := base64.RawURLEncoding.DecodeString(id.requestID)
	if err != nil {
		return jsonrpc.ID{}, false
	}
	ask, err := jsonrpc.ParseID(raw)
	return ask, err == nil && !ask.IsZero()
}

// append appends the id as it is written after "id: ".
func (id eventID) append(dst []byte, nonce string) []byte {
	dst = append(dst, nonce...)
	dst = append(dst, '.', byte(id.kind))
	dst = strconv.AppendUint(dst, uint64(id.stream), 36)
	dst = append(dst, '.')
	dst = strconv.AppendUint(dst, id.seq, 36)
	if id.requestID != "" {
		dst = append(dst, '.')
		dst = append(dst, id.requestID...)
	}
	return dst
}

// parseEventID parses an event id. The nonce tells the session and host process it belongs to.
func parseEventID(text string) (id eventID, nonce string, err error) {
	parts := strings.Split(text, ".")
	if len(text) > maxEventID || len(parts) < 3 || len(parts) > 4 || len(parts[0]) != 4*nonceBytes ||
		parts[1] == "" {
		return id, "", errEventID
	}
	id.kind = streamKind(parts[1][0])
	stream, errStream := strconv.ParseUint(parts[1][1:], 36, 32)
	seq, errSeq := strconv.ParseUint(parts[2], 36, 64)
	if errStream != nil || errSeq != nil ||
		id.kind != postStream && id.kind != standaloneStream && id.kind != answeredStream {
		return id, "", errEventID
	}
	id.stream, id.seq = uint32(stream), seq
	if len(parts) == 4 {
		id.requestID = parts[3]
	}
	return id, parts[0], nil
}
