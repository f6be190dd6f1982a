package server

import (
	"errors"
	"time"

	"mcpd/actors/session"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
	"mcpd/supervisor/otp"
)

// LevelWait is how long logging/setLevel waits for the servers in use to take the level over. One that is slower does so later; a client
// that sets a level is not to wait for the slowest server it ever called.
const LevelWait = 2 * time.Second

// leveling is one logging/setLevel on its way to the servers in use.
type leveling struct {
	d       *session.Deliver
	waiting int   // servers that have not answered
	taken   bool  // one has not refused it
	refused error // by the one that answered last
	timer   otp.Timer
}

type (
	leveled struct {
		l   *leveling
		err error
	}
	levelExpired struct{ l *leveling }
)

// setLevel keeps the client's log level and tells every server it uses. The answer says that they log accordingly.
func (s *Session) setLevel(d *session.Deliver) {
	level, _ := splice.GetString(d.Message.Params, "level")
	if !protocol.ValidLogLevel(level) {
		s.refuse(d, protocol.InvalidParams("params.level is none of the eight log levels"))
		return
	}
	s.store(func(r *session.Record) { r.Level = level })
	if len(s.targets) == 0 {
		s.answer(d, nil)
		return
	}
	s.held.add(d)
	l := &leveling{d: d, waiting: len(s.targets)}
	l.timer = s.p.After(LevelWait, levelExpired{l})
	for server, target := range s.targets {
		otp.CallAsync(s.p, target, s.wish(server), func(_ struct{}, err error) any { return leveled{l, err} })
	}
}

// leveled hears what became of it at one server. A connection that is gone is told again when there is another.
func (s *Session) leveled(m leveled) {
	m.l.waiting--
	var refused *jsonrpc.Error
	if errors.As(m.err, &refused) {
		m.l.refused = refused
	} else {
		m.l.taken = true
	}
	if m.l.waiting == 0 {
		s.levelSet(m.l)
	}
}

// levelSet answers the client. That some server refused is its error only when none did otherwise.
func (s *Session) levelSet(l *leveling) {
	l.timer.Stop()
	switch {
	case !s.held.has(l.d): // answered, or cancelled meanwhile
	case l.refused != nil && !l.taken && l.waiting == 0:
		s.refuse(l.d, l.refused)
	default:
		s.answer(l.d, nil)
	}
}
