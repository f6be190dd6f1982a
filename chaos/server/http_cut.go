package server

import "context"

var httpCut = Misbehaviour{
	Name: "http_cut", Description: "the stream of an answer has comments only and ends",
	servers: urlOnly,
	methods: []string{"tools/call"},
	sendReply: func(_ context.Context, s *server, _ Fault, _ message, _ reply) {
		s.exchange.raw(": soon\n\n: very soon\n\n")
	},
}
