package server

import (
	"context"
	"time"
)

// between is the interval between the comments of an endless stream.
const between = 100 * time.Millisecond

var httpEndless = Misbehaviour{
	Name: "http_endless", Description: "the stream of an answer has comments only and does not end",
	servers: urlOnly,
	methods: []string{"tools/call"},
	sendReply: func(ctx context.Context, s *server, f Fault, _ message, _ reply) {
		s.repeat(ctx, f, func() {
			s.exchange.raw(": soon\n\n")
			pause(ctx, between)
		})
	},
}
