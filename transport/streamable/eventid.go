package streamable

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
)

// eventID names one event of one session: the session's nonce, the stream it went out on, and its place in the stream's order. Clients
// treat it as opaque.
//
// The nonce is random, so an id of one session means nothing in another even where stream and place agree; that the asker owns the
// session at all was settled before an id is looked at.
type eventID struct {
	kind   streamKind
	stream uint32
	seq    uint64 // everything up to and including this place was received
}

// streamKind is the letter of a stream in its event ids.
type streamKind byte

const (
	postStream       streamKind = 'p' // the reply to one POST
	standaloneStream streamKind = 'g' // a GET
)

// nonceBytes is half a UUID: no session will meet another's nonce, and the id stays short, since it is on every event.
const nonceBytes = 8

// maxEventID bounds what is read from a Last-Event-ID header; an id of ours has at most 16+1+1+7+1+13 bytes.
const maxEventID = 64

var errEventID = errors.New("not an event id of this session")

func newNonce() string {
	var b [nonceBytes]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(b[:])
}

// append writes the id as it stands after "id: ".
func (id eventID) append(dst []byte, nonce string) []byte {
	dst = append(dst, nonce...)
	dst = append(dst, '.', byte(id.kind))
	dst = strconv.AppendUint(dst, uint64(id.stream), 36)
	dst = append(dst, '.')
	return strconv.AppendUint(dst, id.seq, 36)
}

// parseEventID reads an id and checks that it is of the session with this nonce.
func parseEventID(text, nonce string) (eventID, error) {
	if len(text) > maxEventID || nonce == "" {
		return eventID{}, errEventID
	}
	given, rest, ok := strings.Cut(text, ".")
	if !ok || given != nonce || len(rest) < 2 {
		return eventID{}, errEventID
	}
	kind := streamKind(rest[0])
	stream, seq, ok := strings.Cut(rest[1:], ".")
	if !ok || kind != postStream && kind != standaloneStream {
		return eventID{}, errEventID
	}
	n, err := strconv.ParseUint(stream, 36, 32)
	if err != nil {
		return eventID{}, errEventID
	}
	at, err := strconv.ParseUint(seq, 36, 64)
	if err != nil {
		return eventID{}, errEventID
	}
	return eventID{kind, uint32(n), at}, nil
}
