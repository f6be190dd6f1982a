package server

import (
	"context"
	"slices"
)

// rubbish is typical text that programs write to standard output by mistake.
const rubbish = "INFO listening\n\xef\xbb\xbf\n\x1b[31mred\x1b[0m\r\n" +
	"{\"jsonrpc\":\"2.0\",\n\x00\x00\n[1,2\n\xff\xfe\n"

var garbage = Misbehaviour{
	Name: "garbage", Description: "it writes what is no message before and after each answer",
	methods: []string{"tools/call"},
	sendReply: func(_ context.Context, s *server, _ Fault, m message, r reply) {
		s.write(slices.Concat([]byte(rubbish), encodeLine(m.ID, r), []byte(rubbish)))
	},
}
