package era

import (
	"errors"
	"strings"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport/streamable"
)

// EraEvidence is how strongly a refusal suggests that the server is not of the era that was agreed
// on.
type EraEvidence uint8

// The signs, from the weakest on.
const (
	None       EraEvidence = iota
	weak                   // a server of either era may refuse like this
	conclusive             // a server of the agreed era does not
	signs
)

// EvidenceOf returns the sign in a refusal by a server that was of an era.
func EvidenceOf(era protocol.Era, err error) EraEvidence {
	var answer *jsonrpc.Error
	var status *streamable.StatusError
	switch {
	case errors.As(err, &answer) && era == protocol.Modern:
		return signToModern(answer)
	case errors.As(err, &answer):
		return signToLegacy(answer)
	case !errors.As(err, &status) || !status.MaybeUnknown():
		return None
	case status.NotServed():
		return conclusive
	}
	return weak
}

// signToLegacy reads the refusal of a legacy request. A modern server looks first for the metadata
// of a request, and many name it in the error (2026-07-28 §basic).
func signToLegacy(e *jsonrpc.Error) EraEvidence {
	switch {
	case protocol.SpecCode(e.Code),
		e.Code == jsonrpc.CodeInvalidParams && strings.Contains(e.Message, "_meta"):
		return conclusive
	case e.Code == jsonrpc.CodeInvalidParams, e.Code == codeNoSession:
		return weak
	}
	return None
}

func signToModern(e *jsonrpc.Error) EraEvidence {
	switch e.Code {
	case protocol.CodeUnsupportedVersion:
		return conclusive
	case codeNotBegun, jsonrpc.CodeInvalidRequest, jsonrpc.CodeMethodNotFound,
		jsonrpc.CodeInvalidParams:
		return weak
	}
	return None
}

// Codes of no specification. Servers of the TypeScript SDK send them for a request without a
// session, and for one with a session that they do not know.
const (
	codeNotBegun  = -32000
	codeNoSession = -32001
)

// Pauses after the host has asked a server, because of a refusal, whether it is another. Each is
// twice as long as the one before, until the server was found to be another.
const (
	FirstCheckPause = 100 * time.Millisecond
	LastCheckPause  = 10 * time.Second
)

// pause is such a pause. The zero pause is over.
type pause struct {
	length time.Duration
	until  time.Time
}

func (p *pause) over(now time.Time) bool { return !now.Before(p.until) }

func (p *pause) grow(now time.Time) {
	p.length = min(max(2*p.length, FirstCheckPause), LastCheckPause)
	p.until = now.Add(p.length)
}
