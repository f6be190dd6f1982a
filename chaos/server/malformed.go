package server

import "context"

var malformed = Misbehaviour{
	Name: "malformed", Description: "its answers to calls are cut off in the middle",
	of: []string{"tools/call"},
	reply: func(_ context.Context, s *server, _ Fault, m message, r reply) {
		whole := line(m.ID, r)
		s.write(append(whole[:len(whole)/2], '\n'))
	},
}
