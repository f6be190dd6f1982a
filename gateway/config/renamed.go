package config

import "mcpd/gateway/config/document"

// renamedKey is a key under an earlier name, which files may still use.
type renamedKey struct {
	old, now string          // the last part of the path
	hint     string          // how the value differs; "" if it does not
	at       func(scope) any // returns a pointer to the field for the value; nil is that of the key
}

// renamedKeys are the earlier names of keys. Each is accepted for one release after the change.
var renamedKeys = []renamedKey{
	{"mute", "allow_server_requests", ", with the opposite value",
		func(s scope) any { return &s.server.DenyRequests }},
	{"park_time", "input_timeout", "", nil},
}

// renamed returns the key of n that has name as an earlier name, or nil, and warns of that name.
func (l *loader) renamed(n *node, name document.Name) *node {
	for _, r := range renamedKeys {
		child := n.find(r.now)
		if name.Text != r.old || child == nil {
			continue
		}
		l.warn(name.At, "key "+r.old+" has a new name", "it is now "+r.now+r.hint,
			"use the new name: the old one will be refused in a later release")
		key := *child.key
		key.Path = key.Path[:len(key.Path)-len(r.now)] + r.old
		if r.at != nil {
			key.at = r.at
		}
		earlier := *child
		earlier.key = &key
		return &earlier
	}
	return nil
}
