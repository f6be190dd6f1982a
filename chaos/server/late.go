package server

import "context"

var late = Misbehaviour{
	Name: "late", Description: "it answers calls later", of: []string{"tools/call"},
	reply: func(ctx context.Context, s *server, f Fault, m message, r reply) {
		pause(ctx, f.Delay)
		s.write(line(m.ID, r))
	},
}
