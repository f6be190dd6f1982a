package server

import (
	"context"
	"net/http"
)

var httpStatus = Misbehaviour{
	Name: "http_status", Description: "it answers calls with a status that is no success",
	servers: urlOnly,
	methods: []string{"tools/call"},
	sendReply: func(_ context.Context, s *server, f Fault, _ message, _ reply) {
		http.Error(s.exchange.to, "it does not work", f.Code)
	},
}
