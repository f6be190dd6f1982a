package server

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/splice"
)

// logs sees to it that a server logs at least what a request that stands alone wants to hear, and then goes on with it. A legacy server has
// one level for all: the most verbose that was asked for while such calls are on their way. Each call hears what it asked for.
func (s *Session) logs(o *outgoing, then func()) {
	if s.heard(o) {
		then()
		return
	}
	if s.levels == nil {
		s.levels = map[string]string{}
	}
	s.levels[o.server] = o.level()
	s.heed()
	s.tell(o.d, []string{o.server}, func(error) { s.logs(o, then) }) // another call may have ended meanwhile, and its level with it
}

// heard reports whether the server of a request logs all that this wants to hear: most want nothing.
func (s *Session) heard(o *outgoing) bool {
	if !s.modern() || o.own {
		return true
	}
	level := o.level()
	set, ok := s.levels[o.server]
	return level == "" || ok && protocol.AtLeast(level, set)
}

// logged forgets the level of a server when no call wants to hear of its log any more: the next one sets its own.
func (s *Session) logged(server string) {
	if len(s.levels) > 0 && !s.h.Calls().Logged(server) {
		delete(s.levels, server)
	}
}

// level is the level of the log lines that a request wants; none unless it says so.
func (o *outgoing) level() string {
	level, _ := splice.GetString(o.meta(), protocol.MetaLogLevel)
	return level
}

// meta is _meta of the request as its client sent it; empty for none. It is looked for once.
func (o *outgoing) meta() jsontext.Value {
	if !o.looked {
		o.looked = true
		if m := o.d.Message; m.May("_meta") {
			o.said, _ = splice.Get(m.Outline(), "_meta")
		}
	}
	return o.said
}
