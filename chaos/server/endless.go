package server

import "context"

var endless = Misbehaviour{
	Name: "endless", Description: "its list of tools has no end: each page leads to the same one",
	of: []string{"tools/list"},
	reply: func(_ context.Context, s *server, _ Fault, m message, r reply) {
		r.Result.(object)["nextCursor"] = "again"
		s.send(line(m.ID, r))
	},
}
