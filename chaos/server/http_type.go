package server

import "context"

var httpType = Misbehaviour{
	Name: "http_type", Description: "it answers calls with a page for people", servers: urlOnly,
	methods: []string{"tools/call"},
	sendReply: func(_ context.Context, s *server, _ Fault, _ message, _ reply) {
		s.exchange.to.Header().Set("Content-Type", "text/html")
		// the client may be gone
		_, _ = s.exchange.to.Write([]byte("<!doctype html><title>Sign in</title>\n"))
	},
}
