package era

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/session"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// beginLegacy begins the handshake of the legacy era.
func (h *Handshake) beginLegacy(now time.Time) Effect {
	h.life = session.NewClient(now, session.Options{Timeout: h.o.Timeout - now.Sub(h.o.Started)})
	_, _ = h.life.Step(now, session.Start)
	if slices.Contains(h.o.Policy.Offered(protocol.Legacy), h.o.InitializeRevision) {
		return h.initialize(h.o.InitializeRevision)
	}
	return h.initialize(h.newest(protocol.Legacy))
}

// initialize asks a server for a session in a revision.
func (h *Handshake) initialize(v protocol.Version) Effect {
	h.asked = v
	return Effect{Do: Initialize, Version: v}
}

// initialized handles the server's answer to initialize. A server that speaks no revision of ours
// ends the connection for good.
func (h *Handshake) initialized(now time.Time, a Answer) Effect {
	var init protocol.InitializeResult
	var v protocol.Version
	said := a.Err == nil
	if a.Err == nil {
		init, a.Err = protocol.ParseInitializeResult(a.Result)
	}
	if a.Err == nil {
		v, a.Err = h.o.Policy.Accept(init.Version)
	}
	if again, ok := h.nextRevision(protocol.Legacy, a); ok {
		return h.initialize(again)
	}
	if a.Err != nil {
		return h.refusedBy(now, a.Err, init.Version, said)
	}
	facts := Facts{v, init.Capabilities, init.Info, init.Instructions}
	if a.Stateless && !h.probed && h.allows(protocol.Modern) {
		h.initializeFacts = &facts
		return h.probe(h.newest(protocol.Modern))
	}
	return h.agree(now, facts)
}

// refusedBy goes on after a failed handshake. The server has answered with an error, or has said a
// version that may not be spoken.
func (h *Handshake) refusedBy(now time.Time, err error, version string, said bool) Effect {
	_, _ = h.life.Step(now, session.Refuse)
	h.initializeRefusal = err
	if _, exit := errors.AsType[*transport.ExitError](err); !exit { // an ExitError says so by itself
		h.initializeRefusal = fmt.Errorf("initialize: %w", err)
	}
	switch {
	case modernOnly(version, err) && (!h.probed || h.silent) && h.allows(protocol.Modern):
		return h.probe(h.newest(protocol.Modern))
	case said:
		return Effect{Do: Fail, Err: h.unsupported(h.initializeRefusal)}
	}
	return Effect{Do: Fail, Err: h.initializeRefusal}
}

// agree goes on with a server that has answered initialize.
func (h *Handshake) agree(now time.Time, f Facts) Effect {
	h.initializeFacts = nil
	_, _ = h.life.Step(now, session.Answer)
	return Effect{Do: Agree, Facts: f}
}

// modernOnly reports whether initialize got an answer, with a revision or an error, that a server
// without a handshake may give. Such a server has no single way to say so, and a legacy server has
// no single way to refuse a probe.
func modernOnly(version string, err error) bool {
	var answer *jsonrpc.Error
	var status *streamable.StatusError
	v, known := protocol.ParseVersion(version)
	return known && v.Era() == protocol.Modern || errors.As(err, &answer) ||
		errors.As(err, &status) && status.MaybeUnknown()
}

// handshakeless reports whether the answer to initialize is an error about the method or the
// revision. Any other error may be that of a legacy server that cannot be used, and does not answer
// a probe.
func handshakeless(err error) bool {
	answer, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && slices.Contains([]int64{
		jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams, protocol.CodeUnsupportedVersion,
	}, answer.Code)
}

// UnsupportedRevision is the error of a server that has answered the handshake, but not in a
// revision that may be spoken to it. It would give the same answer again.
type UnsupportedRevision struct {
	error
	ours []string
}

func (e UnsupportedRevision) Unwrap() error { return e.error }

// Advice says what an operator can do about it.
func (e UnsupportedRevision) Advice() string {
	return "use a version of the server that speaks one of " + strings.Join(e.ours, ", ")
}

// unsupported adds to an error the revisions that may be spoken.
func (h *Handshake) unsupported(err error) error {
	return UnsupportedRevision{err, h.o.Policy.Names()}
}
