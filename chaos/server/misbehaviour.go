package server

import (
	"context"
	"slices"
	"time"
)

// Misbehaviour is one way in which a server can misbehave.
type Misbehaviour struct {
	Name        string
	Description string // in one line, as a sentence without its period
	servers     place
	// begin runs once, after the call that switches the fault on was answered. It may be nil.
	begin func(ctx context.Context, s *server, f Fault)
	// start runs in each process that finds the fault in its state. If it is nil, the fault ends with
	// its process.
	inNewProcess func(s *server, f Fault)
	// methods are the methods whose replies the fault changes.
	methods []string
	// reply sends a reply in the wrong way.
	sendReply func(ctx context.Context, s *server, f Fault, m message, r reply)
}

// place says which servers can misbehave in this way.
type place uint8

const (
	anywhere  place = iota
	stdioOnly       // servers on standard input and output
	urlOnly         // servers behind a URL
)

// Misbehaviours are all misbehaviours, sorted by name.
var Misbehaviours = []Misbehaviour{
	another, asking, both, closed, crash, deep, endless, exit, flood, garbage, giant, grandchild,
	httpBusy, httpCut, httpEndless, httpForget,
	httpFraming, httpRedirect, httpReset, httpSlowBody, httpSlowHeader, httpStatus, httpType, huge,
	invalid, late, malformed, mute, neither, oddID,
	oddText, progress, shuffled, silent, slow, stderr, storm, stringID, stubborn, twice, wide,
}

// URL reports whether only a server behind a URL can misbehave in this way.
func (m Misbehaviour) URL() bool { return m.servers == urlOnly }

// Counted reports whether the misbehaviour changes replies and does nothing else. The server counts
// the changed replies.
func (m Misbehaviour) Counted() bool { return m.sendReply != nil && m.begin == nil }

func find(name string) (Misbehaviour, bool) {
	for _, m := range Misbehaviours {
		if m.Name == name {
			return m, true
		}
	}
	return Misbehaviour{}, false
}

// Fault is a misbehaviour that is switched on.
type Fault struct {
	Name  string        `json:"fault"`
	Until time.Time     `json:"until"`
	Times int           `json:"times"` // the maximum number of strikes; 0 is unlimited
	Delay time.Duration `json:"-"`     // only for faults that are not kept in the state
	Size  int64         `json:"size"`  // bytes, levels or messages
	Code  int           `json:"code"`  // an exit code or an HTTP status
}

// on reports whether the fault is on.
func (f Fault) on(now time.Time) bool { return f.Name != "" && now.Before(f.Until) }

// claimStrike reports whether a fault strikes the next reply to that method, returns the fault, and
// counts the strike.
func (s *memory) claimStrike(method string) (Misbehaviour, Fault, bool) {
	s.faultMu.Lock()
	defer s.faultMu.Unlock()
	m, ok := find(s.fault.Name)
	if !ok || !slices.Contains(m.methods, method) || !s.fault.on(time.Now()) {
		return m, s.fault, false
	}
	if s.fault.Times > 0 && s.struck == s.fault.Times {
		return m, s.fault, false
	}
	s.struck++
	return m, s.fault, true
}

// strikeCount returns how often the current fault has struck. Faults with several variants use it
// to cycle through them.
func (s *memory) strikeCount() int {
	s.faultMu.Lock()
	defer s.faultMu.Unlock()
	return s.struck
}

// current returns the fault that is switched on, whether it still strikes or not.
func (s *memory) current() Fault {
	s.faultMu.Lock()
	defer s.faultMu.Unlock()
	return s.fault
}

// set switches a fault on in place of the current one.
func (s *memory) set(f Fault) {
	s.faultMu.Lock()
	defer s.faultMu.Unlock()
	s.fault, s.struck = f, 0
}
