package server

import (
	"bytes"
	"context"
)

var twice = Misbehaviour{
	Name: "twice", Description: "it answers each call twice", methods: []string{"tools/call"},
	sendReply: func(_ context.Context, s *server, _ Fault, m message, r reply) {
		s.write(bytes.Repeat(encodeLine(m.ID, r), 2))
	},
}
