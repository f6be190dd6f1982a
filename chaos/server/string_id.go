package server

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"
)

var stringID = Misbehaviour{
	Name:        "string_id",
	Description: "it answers with the number of a call as a text, and with its text as a number",
	methods:     []string{"tools/call"},
	sendReply: func(_ context.Context, s *server, _ Fault, m message, r reply) {
		id := jsontext.Value(`"` + string(m.ID) + `"`)
		if m.ID[0] == '"' {
			id = jsontext.Value("1")
		}
		s.write(encodeLine(id, r))
	},
}
