package server

import (
	"bytes"
	"context"
	"strings"
)

// ends are the line endings that a stream may use (HTML Standard §9.2.5).
var ends = []string{"\n", "\r", "\r\n"}

var httpFraming = Misbehaviour{
	Name: "http_framing",
	Description: "the streams of its answers are right in unusual ways: ends of lines, comments, " +
		"retry, " +
		"data in several lines", servers: urlOnly,
	methods: []string{"tools/call"},
	sendReply: func(_ context.Context, s *server, _ Fault, m message, r reply) {
		// White space between members of a JSON object means nothing, so that each member can be a data
		// line of its own.
		data := bytes.ReplaceAll(bytes.TrimSpace(encodeLine(m.ID, r)), []byte(`,"id":`),
			[]byte(",\ndata:\"id\":"))
		data = bytes.Replace(data, []byte(`,"result":`), []byte(",\ndata: \"result\":"), 1)
		text := "\ufeff: a comment\nretry: 10\nretry: never\nunknown: field\nnothing\n\nevent: " +
			"message\nid: \ndata: " + string(data) + "\n\n: the end\n\n"
		s.exchange.raw(strings.ReplaceAll(text, "\n", ends[s.strikeCount()%len(ends)]))
	},
}
