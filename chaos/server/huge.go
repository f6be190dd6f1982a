package server

import (
	"context"
	"maps"
	"slices"
	"strconv"
)

// maxTools bounds the number of tools, and so the message to some megabytes.
const maxTools = 100_000

var huge = Misbehaviour{
	Name: "huge", Description: "its list of tools is longer than anybody reads",
	methods: []string{"tools/list"},
	sendReply: func(_ context.Context, s *server, f Fault, m message, r reply) {
		of := maps.Clone(r.Result.(object))
		list := slices.Clone(of["tools"].([]object))
		for i := range min(f.Size, maxTools) {
			list = append(list, object{
				"name": "more" + strconv.FormatInt(i, 10), "inputSchema": object{"type": "object"},
			})
		}
		of["tools"] = list
		r.Result = of
		s.send(encodeLine(m.ID, r))
	},
}
