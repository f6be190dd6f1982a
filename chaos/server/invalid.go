package server

import (
	"context"
	"maps"
)

// invalidTools are list entries that are not valid tools.
var invalidTools = []any{
	"a text", nil, object{}, object{"name": ""},
	object{"name": 7, "inputSchema": object{"type": "object"}},
	object{"name": "without_schema"}, object{"name": "schema_is_text", "inputSchema": "object"},
	object{"name": "schema_of_array", "inputSchema": object{"type": "array"}},
	object{
		"name": "odd_header",
		"inputSchema": object{
			"type": "object", "properties": object{"a": object{"type": "string", "x-mcp-header": "a b"}},
		},
	},
	object{"name": "echo", "description": "Is there twice", "inputSchema": object{"type": "object"}},
}

var invalid = Misbehaviour{
	Name: "invalid", Description: "its list of tools has invalid ones among them",
	methods: []string{"tools/list"},
	sendReply: func(_ context.Context, s *server, _ Fault, m message, r reply) {
		of := maps.Clone(r.Result.(object))
		var list []any
		for _, t := range of["tools"].([]object) {
			list = append(list, t)
		}
		of["tools"] = append(list, invalidTools...)
		r.Result = of
		s.send(encodeLine(m.ID, r))
	},
}
