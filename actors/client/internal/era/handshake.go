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

// ProbeTimeout is how long a server may take to answer server/discover before it counts as a server
// that does not know it (2026-07-28 §basic/transports/stdio). A legacy server on a pipe may not
// answer an unknown request at all.
const ProbeTimeout = 5 * time.Second

// Past is what is known of a server from its earlier starts.
type Past struct {
	Spoken protocol.Version // the revision that was agreed on last; 0 for none
	// InitializeRevision is the revision for the next initialize of a program that refused another
	// revision and then ended; 0 for the newest.
	InitializeRevision protocol.Version
}

// Options are the options of the start of a server.
type Options struct {
	Past
	Policy      protocol.Negotiation
	Modern      bool          // callers speak a revision without handshake, which is tried first
	EndsOnProbe bool          // it ended when it was probed, and is not probed again
	OneEra      bool          // its transport, HTTP+SSE, is older than the revisions without handshake
	Piped       bool          // it is a program on a pipe
	Timeout     time.Duration // of a start
	Started     time.Time     // when this one began
}

// Do is what to do next.
type Do uint8

// The things to do, each with the members of Effect that it uses.
const (
	Fail       Do = iota + 1 // end the start with Err
	Discover                 // send server/discover: Version, Within
	Initialize               // send initialize: Version
	Agree                    // agreed on Facts; a legacy server is sent notifications/initialized
)

// Effect is the one thing to do next.
type Effect struct {
	Do      Do
	Version protocol.Version
	Within  time.Duration // without an answer the server counts as silent; 0 for the end of the start
	Facts   Facts
	Err     error
}

// Answer is what the server answered, or the error in place of an answer.
type Answer struct {
	Result    jsontext.Value
	Err       error
	Own       []protocol.Version // revisions of the clients on whose behalf it is asked
	Stateless bool               // it has given no session over HTTP
}

// Handshake is the handshake of one start. The zero Handshake is of a server that is not there yet.
type Handshake struct {
	o                 Options
	life              *session.Lifecycle // of initialize; nil while that was not asked
	probing           bool               // server/discover was asked, and is not answered
	probed            bool               // server/discover was asked
	silent            bool               // server/discover was not answered; the server may be slow
	insisted          bool               // it was asked twice in a revision that it refused and named
	asked             protocol.Version   // revision of the last request, of either method
	refused           []protocol.Version
	initializeRefusal error  // the refusal of initialize; nil for none
	initializeFacts   *Facts // the answer to initialize of a server that is probed too; nil for none
}

// Begin returns the first request to a server that is there. The era that callers speak is tried
// first, so that messages between a client and a server of the same era pass unchanged. The next
// Past has the era that was agreed on in the end. An era that the operator has forbidden is never
// tried.
func (h *Handshake) Begin(now time.Time, o Options) Effect {
	*h = Handshake{o: o}
	modern := o.Modern
	if o.Spoken != 0 {
		modern = o.Spoken.Era() == protocol.Modern
	}
	if !h.allows(protocol.Legacy) ||
		modern && !o.EndsOnProbe && !o.OneEra && h.allows(protocol.Modern) {
		return h.probe(h.newest(protocol.Modern))
	}
	return h.beginLegacy(now)
}

// Answered goes on with the server's answer to the last request.
func (h *Handshake) Answered(now time.Time, a Answer) Effect {
	if h.probing {
		h.probing = false
		return h.discovered(now, a)
	}
	return h.initialized(now, a)
}

// Probing reports whether the server was asked for server/discover, and has not answered.
func (h *Handshake) Probing() bool { return h.probing }

// Died reports whether a server that has ended may have ended because it was probed.
func (h *Handshake) Died() bool {
	return h.probing && h.initializeRefusal == nil && h.initializeFacts == nil &&
		h.allows(protocol.Legacy)
}

// Again reports whether a program that has ended is to be asked again in another revision, and
// returns that revision. The program refused one, and ended before it answered in the next. Some
// programs end with the refusal.
func (h *Handshake) Again() (protocol.Version, bool) {
	refused := h.waits() && !h.probing && slices.Contains(h.refused, h.newest(protocol.Legacy))
	return h.asked, refused && h.o.Piped && h.o.InitializeRevision != h.asked
}

// Late returns the error of a start that has taken too long.
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

// allows reports whether the policy allows a revision of an era.
func (h *Handshake) allows(era protocol.Era) bool { return len(h.o.Policy.Offered(era)) > 0 }

// newest returns the newest revision of an era that may be spoken to the server. There has to be
// one.
func (h *Handshake) newest(era protocol.Era) protocol.Version {
	v, _ := h.o.Policy.Newest(era)
	return v
}
