package server

import "context"

var malformed = Misbehaviour{
	Name: "malformed", Description: "its answers to calls are cut off in the middle",
	methods: []string{"tools/call"},
	sendReply: func(_ context.Context, s *server, _ Fault, m message, r reply) {
		whole := encodeLine(m.ID, r)
		s.write(append(whole[:len(whole)/2], '\n'))
	},
}
