package demo

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/seal"
)

const (
	// stateTTL is how long a client may keep a state: as long as a legacy client may take for an
	// answer.
	stateTTL = protocol.InputTimeout
	// maxState bounds a state in bytes. It is sent back and forth, and intermediaries may limit its
	// size. Forms and short texts fit.
	maxState = 16 << 10
)

// sealer authenticates the states that a client keeps for the server (2026-07-28
// §basic/patterns/mrtr "Server Requirements"). A client can read a sealed state, which contains
// only its own answers, but cannot change it.
type sealer struct{ key [sha256.Size]byte }

// newSealer reads a key from random. The key is lost with the connection, which invalidates all
// sealed states.
func newSealer(random io.Reader) (s sealer, err error) {
	_, err = io.ReadFull(random, s.key[:])
	return s, err
}

var stateCode = base64.RawURLEncoding.Strict()

func (s sealer) seal(text []byte) string {
	return stateCode.EncodeToString(append(slices.Clone(text), s.sum(text)...))
}

func (s sealer) open(sealed string) (text []byte, ok bool) {
	// the decoder ignores line breaks
	if len(sealed) > maxState || strings.ContainsAny(sealed, "\r\n") {
		return nil, false
	}
	raw, err := stateCode.DecodeString(sealed)
	if err != nil || len(raw) < sha256.Size {
		return nil, false
	}
	text, sum := raw[:len(raw)-sha256.Size], raw[len(raw)-sha256.Size:]
	return text, hmac.Equal(sum, s.sum(text))
}

func (s sealer) sum(text []byte) []byte {
	h := hmac.New(sha256.New, s.key[:])
	h.Write(text)
	return h.Sum(nil)
}

// stateOf is the requestState of a call: the answers so far, bound to the request and to a time.
func (c *core) stateOf(k *call) (jsontext.Value, error) {
	answers := object{}
	for key, value := range k.answers {
		answers[key] = value
	}
	state := c.seals.seal(encode(object{
		"answers": answers, "request": k.digest(),
		"until": c.now.Add(stateTTL).UTC().Format(time.RFC3339),
	}))
	if len(state) > maxState {
		return nil, protocol.InvalidParams("inputResponses is more than a requestState can hold")
	}
	return jsonedit.Quote(state), nil
}

// readState takes the answers of earlier rounds from a state. It refuses a state that was not made
// for this request.
func (c *core) readState(k *call, raw jsontext.Value) error {
	sealed, _ := jsonedit.Unquote(raw)
	state, ok := c.seals.open(sealed)
	if !ok {
		return protocol.StateInvalid("requestState")
	}
	request, _ := jsonedit.GetString(state, "request")
	text, _ := jsonedit.GetString(state, "until")
	until, _ := time.Parse(time.RFC3339, text)
	if request != k.digest() || !c.now.Before(until) {
		return protocol.StateInvalid("requestState")
	}
	answers, _ := jsonedit.Get(state, "answers")
	for m := range jsonedit.Members(answers) {
		k.answers[m.Key()] = m.Value
	}
	return nil
}

// digest distinguishes a request, and its retries, from all others.
func (k *call) digest() string {
	d := seal.DigestOf(k.method, k.params)
	return stateCode.EncodeToString(d[:])
}
