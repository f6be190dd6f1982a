package server

import (
	"context"
	"net"
	"net/http"
)

var httpReset = Misbehaviour{
	Name: "http_reset", Description: "it resets the connections that calls come on", servers: urlOnly,
	methods: []string{"tools/call"},
	sendReply: func(_ context.Context, s *server, _ Fault, _ message, _ reply) {
		c, _, err := http.NewResponseController(s.exchange.to).Hijack()
		if err != nil {
			return // the client is gone
		}
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // makes Close reset the connection
		}
		_ = c.Close()
	},
}
