package server

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// ensureLogLevel makes sure that a server logs at least at the level that a modern client's request
// wants, and then goes on with the request. A legacy server has one level for all calls: the most
// verbose level of the calls that are in flight. Each call gets the lines that it asked for.
func (s *Session) ensureLogLevel(o *outgoing, then func()) {
	if s.logsEnough(o) {
		then()
		return
	}
	if s.levels == nil {
		s.levels = map[string]string{}
	}
	s.levels[o.server] = o.level()
	s.updateListen()
	// It checks again afterwards: another call may have ended meanwhile, and its level with it.
	s.sendIntent(o.d, []string{o.server}, func(error) { s.ensureLogLevel(o, then) })
}

// logsEnough reports whether the server already logs at the level that the request wants. Most
// requests want no log lines.
func (s *Session) logsEnough(o *outgoing) bool {
	if !s.modern() || o.internal {
		return true
	}
	level := o.level()
	set, ok := s.levels[o.server]
	return level == "" || ok && protocol.AtLeast(level, set)
}

// releaseLogLevel forgets the log level of a server when no call in flight wants its log lines. The
// next call sets the level again.
func (s *Session) releaseLogLevel(server string) {
	if len(s.levels) > 0 && !s.handle.Calls().Logged(server) {
		delete(s.levels, server)
	}
}

// level is the lowest level of the log lines that a request wants, empty for none.
func (o *outgoing) level() string {
	level, _ := jsonedit.GetString(o.meta(), protocol.MetaLogLevel)
	return level
}

// meta is the _meta of the client's original request; empty if there is none. It is parsed only
// once.
func (o *outgoing) meta() jsontext.Value {
	if !o.metaParsed {
		o.metaParsed = true
		if m := o.d.Message; m.MayHave("_meta") {
			o.metaCache, _ = jsonedit.Get(m.Elided(), "_meta")
		}
	}
	return o.metaCache
}
