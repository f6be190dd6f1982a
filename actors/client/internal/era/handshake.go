package era

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/session"
)

// ProbeTimeout is how long a server may take to answer server/discover before it is taken for one
// that does not know it (2026-07-28 §basic/transports/stdio). A legacy server on a pipe may say
// nothing at all to what it does not know.
const ProbeTimeout = 5 * time.Second

// Past is what is known of a server from its earlier starts.
type Past struct {
	Spoken protocol.Version // the revision that was agreed on last; 0 for none
	// Greets is the revision in which a program is asked for a session that ended when it had refused
	// another; 0 for the newest.
	Greets protocol.Version
}

// Options of the start of a server.
type Options struct {
	Past
	Policy  protocol.Negotiation
	Modern  bool          // its callers speak a revision without handshake, so that is tried first
	Dies    bool          // it ended when it was probed, and is not probed again
	OneEra  bool          // its transport, HTTP+SSE, is older than the revisions without handshake
	Piped   bool          // it is a program on a pipe
	Timeout time.Duration // of a start
	Started time.Time     // when this one began
}

// Do is what to do next.
type Do uint8

// The things to do, each with the members of Effect that say more.
const (
	Fail       Do = iota + 1 // end the start: Err
	Discover                 // ask the server for server/discover: Version, Within
	Initialize               // ask it for a session: Version
	Agree                    // go on with what it speaks and can do: Facts; a legacy one is sent notifications/initialized
)

// Effect is the one thing to do next.
type Effect struct {
	Do      Do
	Version protocol.Version
	Within  time.Duration // without an answer it counts as silent; 0 for the end of the start
	Facts   Facts
	Err     error
}

// Answer is what the server answered, or that it did not.
type Answer struct {
	Result    jsontext.Value
	Err       error
	Own       []protocol.Version // that the clients speak on whose behalf it is asked
	Stateless bool               // it has given no session to what came over HTTP
}

// Handshake is that of one start. The zero Handshake is of a server that is not there yet.
type Handshake struct {
	o        Options
	life     *session.Lifecycle // of initialize; nil while that was not asked
	probing  bool               // server/discover was asked, and is not answered
	probed   bool               // it was asked
	silent   bool               // it was not answered, by a server that may be slow
	insisted bool               // it was asked twice in a revision that was refused and named
	asked    protocol.Version   // in which it was asked last, by either
	refused  []protocol.Version
	greeted  error  // how initialize was refused; nil if it was not
	answered *Facts // how it was answered, by a server that is probed beside; nil for none
}

// Begin asks a server that is there first. The era that callers speak is tried first, so that what
// passes between a client and a server of the same era passes as it is; which one it was in the end
// is in the next Past. An era that the operator has forbidden is never tried.
func (h *Handshake) Begin(now time.Time, o Options) Effect {
	*h = Handshake{o: o}
	modern := o.Modern
	if o.Spoken != 0 {
		modern = o.Spoken.Era() == protocol.Modern
	}
	if !h.may(protocol.Legacy) || modern && !o.Dies && !o.OneEra && h.may(protocol.Modern) {
		return h.probe(h.newest(protocol.Modern))
	}
	return h.greet(now)
}

// Answered goes on with what the server answered to what it was asked last.
func (h *Handshake) Answered(now time.Time, a Answer) Effect {
	if h.probing {
		h.probing = false
		return h.discovered(now, a)
	}
	return h.initialized(now, a)
}

// Probing reports whether the server was asked for server/discover, and has not answered.
func (h *Handshake) Probing() bool { return h.probing }

// Died reports whether a server that has ended can have done so because it was probed.
func (h *Handshake) Died() bool {
	return h.probing && h.greeted == nil && h.answered == nil && h.may(protocol.Legacy)
}

// Again reports whether a program that has ended is asked again in another revision, and which: it
// refused one, and ended before it answered in the next. Some end with the refusal.
func (h *Handshake) Again() (protocol.Version, bool) {
	refused := h.waits() && !h.probing && slices.Contains(h.refused, h.newest(protocol.Legacy))
	return h.asked, refused && h.o.Piped && h.o.Greets != h.asked
}

// Late is the error of a start that has taken longer than it may.
func (h *Handshake) Late(now time.Time, timeout time.Duration) error {
	if h.waits() {
		_, _ = h.life.Step(now, session.Expire)
		return fmt.Errorf(
			"initialize: no answer within %s: %w", timeout, session.ErrInitializationTimeout,
		)
	}
	return fmt.Errorf("not ready within %s: %w", timeout, context.DeadlineExceeded)
}

// waits reports whether initialize was asked and has had no outcome.
func (h *Handshake) waits() bool {
	return h.life != nil && h.life.Phase() == session.Initializing
}

// may reports whether the policy has a revision of an era.
func (h *Handshake) may(era protocol.Era) bool { return len(h.o.Policy.Offered(era)) > 0 }

// newest is the newest revision of an era that may be spoken to the server, which has one.
func (h *Handshake) newest(era protocol.Era) protocol.Version {
	v, _ := h.o.Policy.Newest(era)
	return v
}
