package server

import (
	"context"
	"maps"
	"os"
	"slices"
)

var another = Misbehaviour{
	Name: "another",
	Description: "it is another server from its next start or session on: without handshake, and " +
		"with a " +
		"tool more",
	begin: func(_ context.Context, s *server, f Fault) {
		if s.exchange == nil {
			os.Exit(f.Code)
		}
		s.exchange.web.forget()
	},
	inNewProcess: func(*server, Fault) {},
	methods:      []string{"initialize", "server/discover", "tools/list"},
	sendReply: func(_ context.Context, s *server, _ Fault, m message, r reply) {
		switch m.Method {
		case "initialize":
			r = reply{
				Error: &failure{-32022, "there is no handshake", object{"supported": []string{modernRevision}}},
			}
		case "server/discover":
			d := discovered()
			d["resultType"] = "complete"
			r = reply{Result: d}
		default:
			of := maps.Clone(r.Result.(object))
			more := object{"name": "more", "description": "Is new", "inputSchema": object{"type": "object"}}
			of["tools"] = append(slices.Clone(of["tools"].([]object)), more)
			r.Result = of
		}
		s.send(encodeLine(m.ID, r))
	},
}
