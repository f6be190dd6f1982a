package server

import (
	"bytes"
	"context"
)

var twice = Misbehaviour{
	Name: "twice", Description: "it answers each call twice", of: []string{"tools/call"},
	reply: func(_ context.Context, s *server, _ Fault, m message, r reply) {
		s.write(bytes.Repeat(line(m.ID, r), 2))
	},
}
