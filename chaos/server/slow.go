package server

import "context"

var slow = Misbehaviour{
	Name: "slow", Description: "it answers calls a byte at a time", methods: []string{"tools/call"},
	sendReply: func(ctx context.Context, s *server, f Fault, m message, r reply) {
		s.mu.Lock() // no other writer may interleave
		defer s.mu.Unlock()
		for _, b := range encodeLine(m.ID, r) {
			pause(ctx, f.Delay)
			_, _ = s.Out.Write([]byte{b})
		}
	},
}
