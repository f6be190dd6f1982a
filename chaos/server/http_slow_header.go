package server

import (
	"context"
	"net/http"
)

var httpSlowHeader = Misbehaviour{
	Name: "http_slow_header", Description: "it sends the headers of its answers a byte at a time",
	servers: urlOnly,
	methods: []string{"tools/call"},
	sendReply: func(ctx context.Context, s *server, f Fault, m message, r reply) {
		c, _, err := http.NewResponseController(s.exchange.to).Hijack()
		if err != nil {
			return // the client is gone
		}
		defer c.Close()
		head := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
		for i := range head {
			if _, err := c.Write([]byte{head[i]}); err != nil {
				return
			}
			pause(ctx, f.Delay)
		}
		_, _ = c.Write(encodeLine(m.ID, r))
	},
}
