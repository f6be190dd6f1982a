package seal

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind is the purpose of a token.
type Kind uint8

// The kinds. Tokens contain the numbers, so a number never changes its meaning.
const (
	// UpstreamState holds a modern server's own state, which goes to the server with the retry.
	UpstreamState Kind = 1
	// Held names a held call of a legacy server, which waits for the answers.
	Held Kind = 2
	// Task names a task of a modern server. Requests about the task go to that server.
	Task Kind = 3
	// HostTask names a task that the host itself runs.
	HostTask Kind = 4
	// RepeatedCall marks a call that ended because its user must visit a page. The retry is a new
	// call.
	RepeatedCall Kind = 5
)

// State is the content of a token.
type State struct {
	Kind Kind
	// Upstream is a JSON string, verbatim; empty for none. Wrap: the server's state. Task: the id of
	// the task at its server. Kept: the name of the server.
	Upstream jsontext.Value
	// Instance is, for Held, the host that holds the call, and for Task the server.
	Instance string
	// Handle identifies, for Held and HostTask, the call or task at its host.
	Handle [16]byte
	// Round is, for Held, the number of the questions to answer. Kept: the form in which the client
	// speaks of tasks. Anew: the number of calls so far.
	Round uint32
	// Expiry is the time from which the token is invalid, with a precision of milliseconds.
	Expiry time.Time
}

// The layout is kind, expiry, round, handle, instance, upstream. The last two are preceded by their
// lengths.
const fixed = 1 + 8 + 4 + 16

func (s State) encode() ([]byte, error) {
	switch {
	case s.Kind < UpstreamState || s.Kind > RepeatedCall:
		return nil, fmt.Errorf("state of kind %d", s.Kind)
	case len(s.Upstream) > MaxUpstream:
		return nil, fmt.Errorf("the server's state has %d bytes, more than %d", len(s.Upstream),
			MaxUpstream)
	case len(s.Instance) > MaxInstance:
		return nil, fmt.Errorf("the instance's name has %d bytes, more than %d", len(s.Instance),
			MaxInstance)
	}
	out := make([]byte, 0, fixed+2*binary.MaxVarintLen32+len(s.Instance)+len(s.Upstream))
	out = append(out, byte(s.Kind))
	out = binary.BigEndian.AppendUint64(out, uint64(s.Expiry.UnixMilli()))
	out = binary.BigEndian.AppendUint32(out, s.Round)
	out = append(out, s.Handle[:]...)
	out = binary.AppendUvarint(out, uint64(len(s.Instance)))
	out = append(out, s.Instance...)
	out = binary.AppendUvarint(out, uint64(len(s.Upstream)))
	return append(out, s.Upstream...), nil
}

// decode reads the output of encode. It returns false for any other input, which would have to be
// sealed with one of the host's keys.
func decode(in []byte) (s State, ok bool) {
	if len(in) < fixed {
		return State{}, false
	}
	s.Kind = Kind(in[0])
	s.Expiry = time.UnixMilli(int64(binary.BigEndian.Uint64(in[1:])))
	s.Round = binary.BigEndian.Uint32(in[9:])
	copy(s.Handle[:], in[13:])
	instance, rest, ok := splitPart(in[fixed:])
	if !ok {
		return State{}, false
	}
	upstream, rest, ok := splitPart(rest)
	if !ok || len(rest) > 0 || s.Kind < UpstreamState || s.Kind > RepeatedCall {
		return State{}, false
	}
	s.Instance = string(instance)
	if len(upstream) > 0 {
		s.Upstream = upstream
	}
	return s, true
}

// splitPart splits a part, which is preceded by its length, off the front.
func splitPart(in []byte) (part, rest []byte, ok bool) {
	n, size := binary.Uvarint(in)
	if size <= 0 || n > uint64(len(in)-size) {
		return nil, nil, false
	}
	in = in[size:]
	return in[:n:n], in[n:], true
}
