package server

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/splice"
)

// logs sees to it that a server logs at least what a request that stands alone wants to hear, and then goes on with it. A legacy server has
// one level for all: the most verbose that was asked for while such calls are on their way. Each call hears what it asked for.
func (s *Session) logs(o *outgoing, then func()) {
	level := ""
	if s.modern() && !o.own {
		level = logLevel(o.d.Message.Outline())
	}
	if set, ok := s.levels[o.server]; level == "" || ok && protocol.AtLeast(level, set) {
		then()
		return
	}
	if s.levels == nil {
		s.levels = map[string]string{}
	}
	s.levels[o.server] = level
	s.heed()
	s.tell(o.d, []string{o.server}, func(error) { s.logs(o, then) }) // another call may have ended meanwhile, and its level with it
}

// logged forgets the level of a server when no call wants to hear of its log any more: the next one sets its own.
func (s *Session) logged(server string) {
	if len(s.levels) > 0 && !s.h.Calls().Logged(server) {
		delete(s.levels, server)
	}
}

// logLevel is the level of the log lines that a request wants; none unless it says so.
func logLevel(params jsontext.Value) string {
	level, _ := splice.GetString(params, "_meta", protocol.MetaLogLevel)
	return level
}
