package server

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"
)

// oddIDs derive ids that no request had from the id of a request.
var oddIDs = []func(id string) string{
	func(string) string { return "null" },
	func(id string) string { return id + ".0" },
	func(id string) string { return id + "e0" },
	func(id string) string { return "[" + id + "]" },
	func(string) string { return "123456789012345678901234567890" },
	func(string) string { return "{}" },
	func(string) string { return "true" },
	func(id string) string { return "-" + id },
}

var oddID = Misbehaviour{
	Name: "odd_id",
	Description: "it answers with ids that are null, fractions, far too large, lists, objects, true " +
		"or " +
		"negative", methods: []string{"tools/call"},
	sendReply: func(_ context.Context, s *server, _ Fault, m message, r reply) {
		s.write(encodeLine(jsontext.Value(oddIDs[s.strikeCount()%len(oddIDs)](string(m.ID))), r))
	},
}
