package server

import (
	"context"
	"math/rand/v2"
	"time"
)

var shuffled = Misbehaviour{
	Name: "shuffled", Description: "it answers calls in whatever order",
	methods: []string{"tools/call"},
	sendReply: func(ctx context.Context, s *server, f Fault, m message, r reply) {
		pause(ctx, time.Duration(rand.Int64N(int64(f.Delay)+1)))
		s.write(encodeLine(m.ID, r))
	},
}
