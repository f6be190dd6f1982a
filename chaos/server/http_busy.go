package server

import (
	"context"
	"math"
	"net/http"
	"strconv"
)

var httpBusy = Misbehaviour{
	Name: "http_busy", Is: "it answers calls with status 429 and says when to ask again", at: aURL,
	of: []string{"tools/call"},
	reply: func(_ context.Context, s *server, f Fault, _ message, _ reply) {
		s.over.to.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.Delay.Seconds()))))
		http.Error(s.over.to, "too many requests", http.StatusTooManyRequests)
	},
}
