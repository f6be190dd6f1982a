package server

import (
	"context"
	"math"
	"net/http"
	"strconv"
)

var httpBusy = Misbehaviour{
	Name: "http_busy", Description: "it answers calls with status 429 and says when to ask again",
	servers: urlOnly,
	methods: []string{"tools/call"},
	sendReply: func(_ context.Context, s *server, f Fault, _ message, _ reply) {
		s.exchange.to.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.Delay.Seconds()))))
		http.Error(s.exchange.to, "too many requests", http.StatusTooManyRequests)
	},
}
