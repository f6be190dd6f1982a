package server

import "context"

var late = Misbehaviour{
	Name: "late", Description: "it answers calls later", methods: []string{"tools/call"},
	sendReply: func(ctx context.Context, s *server, f Fault, m message, r reply) {
		pause(ctx, f.Delay)
		s.write(encodeLine(m.ID, r))
	},
}
