package server

import (
	"context"
	"slices"
)

var both = Misbehaviour{
	Name: "both", Description: "its answers have a result and an error",
	methods: []string{"tools/call"},
	sendReply: func(_ context.Context, s *server, _ Fault, m message, r reply) {
		whole := encodeLine(m.ID, r)
		s.write(slices.Concat(whole[:len(whole)-len("}\n")],
			[]byte(`,"error":{"code":-32000,"message":"it failed too"}}`+"\n")))
	},
}
