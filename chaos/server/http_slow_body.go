package server

import (
	"context"
	"net/http"
	"strconv"
)

var httpSlowBody = Misbehaviour{
	Name: "http_slow_body", Description: "it sends the bodies of its answers a byte at a time",
	servers: urlOnly,
	methods: []string{"tools/call"},
	sendReply: func(ctx context.Context, s *server, f Fault, m message, r reply) {
		body := encodeLine(m.ID, r)
		to := s.exchange.to
		to.Header().Set("Content-Type", "application/json")
		to.Header().Set("Content-Length", strconv.Itoa(len(body)))
		control := http.NewResponseController(to)
		for i := range body {
			if _, err := to.Write(body[i : i+1]); err != nil || control.Flush() != nil {
				return // the client is gone
			}
			pause(ctx, f.Delay)
		}
	},
}
