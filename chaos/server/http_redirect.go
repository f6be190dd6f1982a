package server

import (
	"context"
	"net/http"
)

// elsewhere is an address at which nothing listens.
const elsewhere = "http://127.0.0.1:1/mcp"

var httpRedirect = Misbehaviour{
	Name: "http_redirect", Description: "it sends calls elsewhere", servers: urlOnly,
	methods: []string{"tools/call"},
	sendReply: func(_ context.Context, s *server, _ Fault, _ message, _ reply) {
		s.exchange.to.Header().Set("Location", elsewhere)
		s.exchange.to.WriteHeader(http.StatusTemporaryRedirect)
	},
}
