package catalog

import "mcpd/actors/client"

// absent is a server that has listed nothing to a caller, with the reason as far as it is known.
type absent struct {
	server, text, incident string
	quarantined            bool // until an operator releases it or a probe succeeds
	operator               bool // an operator has quarantined it
}

// explanation is the explanation that a list gives.
func (a absent) explanation() string {
	words := "it has not listed anything yet"
	switch {
	case a.operator:
		words = a.text
	case a.quarantined:
		words = "it is quarantined: " + a.text
	case a.text != "":
		words += ": " + a.text
	}
	if a.incident != "" {
		words += " (incident " + a.incident + ")"
	}
	return words
}

// absent returns the servers that have listed nothing to a caller, in configuration order.
func (c *Catalog) absent(caller Caller) (all []absent) {
	for _, name := range c.scope(caller) {
		s := c.servers[name]
		if l := s.lists[s.listed(caller)]; l == nil || !l.known {
			all = append(all, s.absent(caller))
		}
	}
	return all
}

// absent explains why a server has listed nothing to a caller. The reason is the one for which a
// call would be refused. It omits the output of a program, because callers that see the same share
// one list.
func (s *server) absent(caller Caller) absent {
	a := absent{server: s.config.Name}
	if ending := s.whyUnlisted(caller); ending != nil {
		a.text, a.incident, a.operator = ending.Text, ending.Incident, ending.QuarantinedByOperator()
		a.quarantined = s.recovery.Quarantined(s.at(ListKey(s.config, caller)))
	}
	return a
}

// whyUnlisted returns how the connection for a caller's lists ended, or else why the server is
// unreachable. It returns nil if neither is the case.
func (s *server) whyUnlisted(caller Caller) *client.Ending {
	key := s.at(ListKey(s.config, caller))
	if ending := s.recovery.Why(key); ending != nil {
		return ending
	}
	why, _ := s.recovery.Unreachable()
	return why
}
