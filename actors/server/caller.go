package server

import (
	"mcpd/actors/catalog"
	"mcpd/protocol"
)

// version is the revision to answer in: the negotiated one, or the newest that has a handshake.
func (s *Session) version() protocol.Version {
	if s.record != nil {
		return s.record.Version
	}
	return protocol.LatestLegacy
}

// caller is this session as the catalogue knows it.
func (s *Session) caller() catalog.Caller {
	ep := s.h.Endpoint()
	c := catalog.Caller{
		Session:   s.h.Row(),
		Ref:       s.p.Self(),
		Principal: ep.Principal,
		Server:    ep.Server,
		Presence:  s.h,
	}
	if s.record != nil {
		c.Capabilities, c.Info, c.Modern, c.Peer = s.record.Capabilities, s.record.Client, s.modern(), s.h.IsPeer()
		c.Version = s.record.Version
		s.withhold(&c)
	}
	return c
}

// asker is who the client says it is, as the session's calls keep it: they would keep all of a record
// that they led to. Nil where that is not known.
func (s *Session) asker() *protocol.Implementation {
	if s.info == nil && s.record.Client.Name != "" {
		info := s.record.Client
		s.info = &info
	}
	return s.info
}

// withhold takes from what servers are told of a caller what its principal has no room for, and the
// extensions whose methods it has no way to use: those of which the list of all servers knows
// nothing.
func (s *Session) withhold(c *catalog.Caller) {
	f := c.Capabilities.Fingerprint()
	tell := f
	if !s.transparent() {
		tell &^= protocol.OfOthers
	}
	c.Withheld = f &^ s.h.Tell(tell)
}

// modern reports whether the requests of this session stand alone: nobody has opened it, and it may
// serve many clients.
func (s *Session) modern() bool {
	return s.record != nil && s.record.Version.Has(protocol.PerRequestMeta)
}

// transparent reports whether the client sees one server as it is, instead of all as one.
func (s *Session) transparent() bool { return s.h.Endpoint().Server != "" }
