package server

import (
	"mcpd/actors/catalog"
	"mcpd/protocol"
)

// version is the protocol revision for answers: the negotiated one, or the newest legacy revision
// before the handshake.
func (s *Session) version() protocol.Version {
	if s.record != nil {
		return s.record.Version
	}
	return protocol.LatestLegacy
}

// caller describes this session to the catalogue.
func (s *Session) caller() catalog.Caller {
	ep := s.handle.Endpoint()
	c := catalog.Caller{
		Session:   s.handle.Row(),
		Ref:       s.p.Self(),
		Principal: ep.Principal,
		Server:    ep.Server,
		Presence:  s.handle,
	}
	if s.record != nil {
		c.Capabilities, c.Info, c.Modern, c.Peer = s.record.Capabilities, s.record.Client, s.modern(),
			s.handle.IsPeer()
		c.Version = s.record.Version
		s.withhold(&c)
	}
	return c
}

// clientInfo is the implementation that the client declared, in a copy for the session's calls. A
// pointer into a record would keep the whole record alive. Nil if the client gave no name.
func (s *Session) clientInfo() *protocol.Implementation {
	if s.info == nil && s.record.Client.Name != "" {
		info := s.record.Client
		s.info = &info
	}
	return s.info
}

// withhold reduces the capabilities that servers are told of. It removes those for which the
// principal has no room (see session.MaxCapabilitySets). On the aggregate endpoint it also removes
// extensions, because the client cannot use their methods there.
func (s *Session) withhold(c *catalog.Caller) {
	f := c.Capabilities.Fingerprint()
	tell := f
	if !s.singleServer() {
		tell &^= protocol.OtherExtensions
	}
	c.Withheld = f &^ s.handle.GrantSet(tell)
}

// modern reports whether this session is of the modern era: its requests are stateless. No client
// has opened such a session, and it may serve many clients.
func (s *Session) modern() bool {
	return s.record != nil && s.record.Version.Has(protocol.PerRequestMeta)
}

// singleServer reports whether the session's endpoint shows the client one server as it is, and not
// the aggregate of all servers.
func (s *Session) singleServer() bool { return s.handle.Endpoint().Server != "" }
