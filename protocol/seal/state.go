package seal

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind says what a token is for.
type Kind uint8

// The kinds. Their numbers are in tokens, so they are never given another meaning.
const (
	Wrap Kind = 1 // a modern server's own state: the retry goes to the server with it
	Held Kind = 2 // a call to a legacy server that waits for the answer
	Task Kind = 3 // a task of a modern server: what is asked about it goes to that server
	Kept Kind = 4 // a task that a host keeps
	Anew Kind = 5 // a call that ended because its user must visit a page: the retry is the call made anew
)

// State is what a token holds.
type State struct {
	Kind     Kind
	Upstream jsontext.Value // Wrap: the server's state; Task: its id there; Kept: its name; a JSON string verbatim, empty for none
	Instance string         // Held: the host that keeps it; Task: the server
	Handle   [16]byte       // Held, Kept: the call or task there
	Round    uint32         // Held: which questions it answers; Kept: how its client speaks of tasks; Anew: how often the call was made
	Expiry   time.Time      // to the millisecond; from then on the token is no good
}

// The layout: kind, expiry, round, handle, instance, upstream, the last two with their lengths.
const fixed = 1 + 8 + 4 + 16

func (s State) encode() ([]byte, error) {
	switch {
	case s.Kind < Wrap || s.Kind > Anew:
		return nil, fmt.Errorf("state of kind %d", s.Kind)
	case len(s.Upstream) > MaxUpstream:
		return nil, fmt.Errorf("the server's state has %d bytes, more than %d", len(s.Upstream), MaxUpstream)
	case len(s.Instance) > MaxInstance:
		return nil, fmt.Errorf("the instance's name has %d bytes, more than %d", len(s.Instance), MaxInstance)
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

// decode reads what encode made. That something else was sealed with one of our keys is not expected, but no reason to crash.
func decode(in []byte) (s State, ok bool) {
	if len(in) < fixed {
		return State{}, false
	}
	s.Kind = Kind(in[0])
	s.Expiry = time.UnixMilli(int64(binary.BigEndian.Uint64(in[1:])))
	s.Round = binary.BigEndian.Uint32(in[9:])
	copy(s.Handle[:], in[13:])
	instance, rest, ok := cut(in[fixed:])
	if !ok {
		return State{}, false
	}
	upstream, rest, ok := cut(rest)
	if !ok || len(rest) > 0 || s.Kind < Wrap || s.Kind > Anew {
		return State{}, false
	}
	s.Instance = string(instance)
	if len(upstream) > 0 {
		s.Upstream = upstream
	}
	return s, true
}

// cut takes a part with its length off the front.
func cut(in []byte) (part, rest []byte, ok bool) {
	n, size := binary.Uvarint(in)
	if size <= 0 || n > uint64(len(in)-size) {
		return nil, nil, false
	}
	in = in[size:]
	return in[:n:n], in[n:], true
}
