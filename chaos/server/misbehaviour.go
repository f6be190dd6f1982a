package server

import (
	"context"
	"slices"
	"time"
)

// Misbehaviour is one way in which a server does wrong.
type Misbehaviour struct {
	Name string
	Is   string // in one line, as a sentence without its period
	at   place
	// begin is done once, after the call that asks for it was answered; nil is nothing.
	begin func(ctx context.Context, s *server, f Fault)
	// start is done by each process that finds the fault in its state; nil is nothing, and the fault ends with its process.
	start func(s *server, f Fault)
	// of are the methods whose replies it is about.
	of []string
	// reply sends a reply in the wrong way.
	reply func(ctx context.Context, s *server, f Fault, m message, r reply)
}

// place is which servers can do it.
type place uint8

const (
	anywhere place = iota
	aPipe          // servers on standard input and output
	aURL           // servers behind a URL
)

// Misbehaviours are all there are, by name.
var Misbehaviours = []Misbehaviour{
	another, asking, both, closed, crash, deep, endless, exit, flood, garbage, giant, grandchild, httpBusy, httpCut, httpEndless, httpForget,
	httpFraming, httpRedirect, httpReset, httpSlowBody, httpSlowHeader, httpStatus, httpType, huge, invalid, late, malformed, mute, neither, oddID,
	oddText, progress, shuffled, silent, slow, stderr, storm, stringID, stubborn, twice, wide,
}

// URL reports whether only a server behind a URL can do it.
func (m Misbehaviour) URL() bool { return m.at == aURL }

// Counted reports whether it strikes replies, which are counted, and nothing else.
func (m Misbehaviour) Counted() bool { return m.reply != nil && m.begin == nil }

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
	Times int           `json:"times"` // how often it strikes at most; 0 is as often as it can
	Delay time.Duration `json:"-"`     // of what is not kept
	Size  int64         `json:"size"`  // bytes, levels or messages
	Code  int           `json:"code"`  // of an exit, or a status
}

// on reports whether it is on.
func (f Fault) on(now time.Time) bool { return f.Name != "" && now.Before(f.Until) }

// take is the fault that strikes a reply of that method now, if one does.
func (s *memory) take(method string) (Misbehaviour, Fault, bool) {
	s.wrong.Lock()
	defer s.wrong.Unlock()
	m, ok := find(s.fault.Name)
	if !ok || !slices.Contains(m.of, method) || !s.fault.on(time.Now()) {
		return m, s.fault, false
	}
	if s.fault.Times > 0 && s.struck == s.fault.Times {
		return m, s.fault, false
	}
	s.struck++
	return m, s.fault, true
}

// turn is how often what is switched on has struck, for what goes through several ways of doing wrong.
func (s *memory) turn() int {
	s.wrong.Lock()
	defer s.wrong.Unlock()
	return s.struck
}

// current is the fault that is switched on, whether it strikes now or not.
func (s *memory) current() Fault {
	s.wrong.Lock()
	defer s.wrong.Unlock()
	return s.fault
}

// set switches a fault on, and whatever was on off.
func (s *memory) set(f Fault) {
	s.wrong.Lock()
	defer s.wrong.Unlock()
	s.fault, s.struck = f, 0
}
