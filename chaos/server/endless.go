package server

import "context"

var endless = Misbehaviour{
	Name: "endless", Description: "its list of tools has no end: each page leads to the same one",
	methods: []string{"tools/list"},
	sendReply: func(_ context.Context, s *server, _ Fault, m message, r reply) {
		r.Result.(object)["nextCursor"] = "again"
		s.send(encodeLine(m.ID, r))
	},
}
