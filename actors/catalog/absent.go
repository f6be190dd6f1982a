package catalog

import "mcpd/actors/client"

// absent is a server that has listed nothing to a caller, and why, as far as it is known.
type absent struct {
	server, text, incident string
	quarantined            bool // until an operator releases it or a probe finds it well
	operator               bool // an operator has put it away
}

// words are what a list says of it.
func (a absent) words() string {
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

// absent are the servers that have listed nothing to a caller, in configuration order.
func (c *Catalog) absent(caller Caller) (all []absent) {
	for _, name := range c.scope(caller) {
		s := c.servers[name]
		if l := s.lists[s.listed(caller)]; l == nil || !l.known {
			all = append(all, s.absent(caller))
		}
	}
	return all
}

// absent is why a server has listed nothing to a caller: the cause that a call is refused with.
// The output of a program is left out, because a list is kept for all who see the same.
func (s *server) absent(caller Caller) absent {
	a := absent{server: s.config.Name}
	if why := s.whyUnlisted(caller); why != nil {
		a.text, a.incident, a.operator = why.Text, why.Incident, why.PutAway()
		a.quarantined = s.recovery.Quarantined(s.at(ListKey(s.config, caller)))
	}
	return a
}

// whyUnlisted is how the connection ended that a caller's lists come from; nil if it has not. Where
// there was none, nobody may have reached the server.
func (s *server) whyUnlisted(caller Caller) *client.Ending {
	key := s.at(ListKey(s.config, caller))
	if why := s.recovery.Why(key); why != nil {
		return why
	}
	why, _ := s.recovery.Away()
	return why
}
