package reconnect

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// Link is the connection of one client to its host. It is not safe for concurrent use.
//
//	invariant: while away, only the requests of attempt are sent to the host
//	invariant: each request has one outcome, and a request that may have been executed is not
//	           sent again, unless it changes nothing
type Link struct {
	modern  bool // requests are stateless: there is no session
	version protocol.Version

	away      bool
	confirmed bool // the log was last told that the host is away
	stopping  bool // away, but the host was reached: it accepts no new requests
	probing   bool // an attempt to reach the host is in flight
	attempts  int  // attempts since a request was last answered
	tried     time.Time
	next      time.Time // time of the next attempt; zero if none is planned
	overdue   time.Time // time at which the attempt in flight has failed; zero for never
	reason    string    // the reason why the host is away
	cuts      int       // connections that ended since a request was last answered
	refusal   string    // the last refusal in the log

	last jsontext.Value // params of the last request of a modern client, which identify the client

	opened  bool // the host has answered the client's initialize
	session bool // the host should know the session
	state   state
	replay  replay

	requests      []*request
	storedBytes   int // bytes
	questions     []question
	asked         uint64 // questions so far
	pendingErrors []jsonrpc.ID
	gone          bool

	now   time.Time
	armed time.Time
	out   []Effect
}

// New returns the link of a client with a session.
func New() *Link { return &Link{} }

// NewModern returns the link for stateless requests, in a revision without sessions.
func NewModern(v protocol.Version) *Link { return &Link{modern: true, version: v} }

// Version is the revision that host and client agreed on; 0 before the agreement.
func (l *Link) Version() protocol.Version { return l.version }

// Away reports whether the last attempt did not reach a host.
func (l *Link) Away() bool { return l.away && l.confirmed && !l.stopping }

// Opened reports whether a host has ever answered.
func (l *Link) Opened() bool { return l.opened }

// Step takes an event and returns its effects, in order.
func (l *Link) Step(now time.Time, e Event) []Effect {
	l.now, l.out = now, nil
	switch e.Op {
	case Request:
		l.request(e.Message)
	case Notice:
		l.notice(e.Message)
	case Reply:
		l.reply(e.Message)
	case ClientGone:
		l.gone = true
		l.failAfterInputClosed()
	case Answer:
		l.answer(e.Message)
	case HostSent:
		l.said(e.ID, e.Message)
	case Failed:
		l.failed(e)
	case Disconnected:
		l.cut(e)
	case Unreachable:
		if !l.away {
			l.attempts = 0
		}
		if !l.probing {
			l.lost(Event{Why: e.Why})
		}
	case Undelivered:
		l.undelivered(e)
	case Tick:
		l.tick()
	}
	l.arm()
	return l.out
}

func (l *Link) do(e Effect)            { l.out = append(l.out, e) }
func (l *Link) send(m jsonrpc.Message) { l.do(Effect{Do: Send, Message: m}) }
func (l *Link) say(text string)        { l.do(Effect{Do: Log, Text: text}) }
func (l *Link) push(method string, p jsontext.Value) {
	l.do(Effect{Do: Deliver, Message: jsonrpc.Notification(method, p)})
}

// arm requests a Tick for the next time that something is due.
func (l *Link) arm() {
	at := time.Time{}
	sooner := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	if l.away && l.probing {
		sooner(l.overdue)
	} else if l.away {
		sooner(l.next)
	}
	for _, r := range l.requests {
		if r.held && !r.confirmed {
			sooner(r.deadline)
		}
		if r.held && !l.away && l.awaitsLogLevel() {
			sooner(l.replay.levelBy)
		} else if r.held && !l.away {
			sooner(r.notBefore)
		}
	}
	if !at.IsZero() && !at.Equal(l.armed) {
		l.do(Effect{Do: Arm, At: at})
	}
	l.armed = at
}

// tick handles the time-outs and attempts that are due.
func (l *Link) tick() {
	l.armed = time.Time{}
	for _, r := range l.all() {
		if r.held && !r.confirmed && !r.deadline.After(l.now) {
			l.fail(r, r.repeated)
		}
	}
	switch {
	case l.away && l.probing && !l.overdue.IsZero() && !l.overdue.After(l.now):
		// A late answer to initialize would change the session.
		if l.opened && !l.session && !l.modern {
			l.do(Effect{Do: Connect})
		}
		l.lost(Event{Why: "the host does not answer"})
	case l.away && !l.probing && !l.next.IsZero() && !l.next.After(l.now):
		l.attempt()
	case !l.away:
		l.flush()
	}
}
