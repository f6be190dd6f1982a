package server

import (
	"context"
	"slices"
)

var neither = Misbehaviour{
	Name: "neither", Description: "its answers have neither a result nor an error",
	methods: []string{"tools/call"},
	sendReply: func(_ context.Context, s *server, _ Fault, m message, _ reply) {
		s.write(slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), m.ID, []byte("}\n")))
	},
}
