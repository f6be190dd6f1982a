package era

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/session"
	"mcpd/transport/streamable"
)

// probe asks a server whether it speaks a revision without handshake, in a revision that may be
// spoken. A server may take as long as a start may if it has refused initialize in a way that only
// a server without a handshake does.
func (h *Handshake) probe(v protocol.Version) Effect {
	h.probing, h.probed, h.silent, h.asked = true, true, false, v
	within := min(ProbeTimeout, h.o.Timeout/2)
	if handshakeless(h.initializeRefusal) {
		within = 0
	}
	return Effect{Do: Discover, Version: v, Within: within}
}

// discovered handles the answer to the probe (2026-07-28 §basic/versioning, "Era Detection"). No
// single code means that a server is legacy: any answer does that only a legacy server can give.
func (h *Handshake) discovered(now time.Time, a Answer) Effect {
	if a.Err == nil {
		return h.described(now, a)
	}
	if h.initializeFacts != nil {
		return h.agree(now, *h.initializeFacts)
	}
	if v, ok := h.nextRevision(protocol.Modern, a); ok {
		return h.probe(v)
	}
	cause := fmt.Errorf("server/discover: %w", a.Err)
	var answer *jsonrpc.Error
	var status *streamable.StatusError
	switch {
	case errors.As(a.Err, &answer):
		_, ours := h.o.Policy.Choose(supported(answer))
		if ours && !h.insisted && len(h.refused) == 1 {
			h.insisted = true
			return h.probe(h.asked)
		}
		if protocol.SpecCode(answer.Code) && !legacyOffered(answer) {
			return h.fail(cause)
		}
	case errors.As(a.Err, &status):
		if !status.MaybeUnknown() {
			return h.fail(cause)
		}
	case protocol.ConditionOf(a.Err) != protocol.ConditionTimeout:
		return h.fail(cause)
	default:
		h.silent = true
	}
	return h.fallBack(now, cause)
}

// described handles a result of server/discover.
func (h *Handshake) described(now time.Time, a Answer) Effect {
	r, err := protocol.ParseDiscover(a.Result)
	if err == nil {
		if v, ok := h.o.Policy.Choose(r.Versions); ok {
			if h.initializeFacts != nil {
				_, _ = h.life.Step(now, session.Refuse) // the handshake is given up
			}
			return Effect{Do: Agree, Facts: Facts{v, r.Capabilities, r.Info, r.Instructions}}
		}
		err = errors.New("none of its revisions is supported")
	}
	return h.fallBack(now, h.unsupported(fmt.Errorf("server/discover: %w", err)))
}

// fallBack tries the other era, unless that was tried before or is forbidden.
func (h *Handshake) fallBack(now time.Time, cause error) Effect {
	switch {
	case h.initializeFacts != nil:
		return h.agree(now, *h.initializeFacts)
	case h.life != nil || !h.allows(protocol.Legacy):
		return h.fail(cause)
	}
	return h.beginLegacy(now)
}

// fail ends the start with the refusals of both eras.
func (h *Handshake) fail(cause error) Effect {
	return Effect{Do: Fail, Err: errors.Join(h.initializeRefusal, cause)}
}

// nextRevision returns the revision of an era in which a server is asked once more after it has
// refused one: the newest that the server has named, or that a client of ours speaks. Only a
// refusal that may be about the revision counts. Each revision is tried once, so this ends.
func (h *Handshake) nextRevision(era protocol.Era, a Answer) (protocol.Version, bool) {
	var answer *jsonrpc.Error
	var status *streamable.StatusError
	var named, own []protocol.Version
	switch {
	case errors.As(a.Err, &answer):
		named = protocol.NamedVersions(string(answer.Data), answer.Message)
		if answer.Code != jsonrpc.CodeMethodNotFound &&
			(era == protocol.Legacy || answer.Code == protocol.CodeUnsupportedVersion) {
			own = a.Own
		}
	case errors.As(a.Err, &status) && status.BadRequest():
		named = protocol.NamedVersions(status.Body)
		if era == protocol.Legacy {
			own = a.Own
		}
	default:
		return 0, false
	}
	h.refused = append(h.refused, h.asked)
	return h.o.Policy.RetryVersion(era, named, own, h.refused)
}

// supported returns the revisions named by an error that only a server of the modern era sends.
func supported(e *jsonrpc.Error) (names []string) {
	if e.Code != protocol.CodeUnsupportedVersion {
		return nil
	}
	list, _ := jsonedit.Get(e.Data, "supported")
	for name := range jsonedit.Elements(list) {
		if text, ok := jsonedit.Unquote(name); ok {
			names = append(names, text)
		}
	}
	return names
}

// legacyOffered reports whether such an error names revisions that begin with a handshake.
func legacyOffered(e *jsonrpc.Error) bool {
	return slices.ContainsFunc(supported(e), func(name string) bool {
		v, ok := protocol.ParseVersion(name)
		return ok && v.Era() == protocol.Legacy
	})
}
