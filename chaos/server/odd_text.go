package server

import (
	"bytes"
	"context"
	"slices"
)

// oddTexts corrupt an answer. In all results but the last two, the id can still be read.
var oddTexts = []func(whole []byte) []byte{
	func(b []byte) []byte { return swap(b, `"content":`, `"content":[],"content":`) },
	func(b []byte) []byte { return swap(b, `"text":"`, `"text":"`+"\xff\xfe") },
	func(b []byte) []byte { return swap(b, `"text":"`, `"text":"\ud800`) },
	func(b []byte) []byte { return swap(b, `"text":"`, `"text":"`+"\x00") },
	func(b []byte) []byte { return swap(b, `"result":`, `"RESULT":`) },
	func(b []byte) []byte { return swap(b, `"jsonrpc":"2.0"`, `"jsonrpc":"2.0","jsonrpc":"2.0"`) },
	func(b []byte) []byte { return append(b, `{}`...) },
	func(b []byte) []byte { return slices.Concat([]byte("\ufeff"), b) },
}

func swap(b []byte, was, is string) []byte { return bytes.Replace(b, []byte(was), []byte(is), 1) }

var oddText = Misbehaviour{
	Name: "odd_text",
	Description: "its answers are JSON but for a name that is there twice or wrongly spelt, invalid " +
		"UTF-8, " +
		"NUL, or what stands around them",
	methods: []string{"tools/call"},
	sendReply: func(_ context.Context, s *server, _ Fault, m message, r reply) {
		whole := bytes.TrimSuffix(encodeLine(m.ID, r), []byte("\n"))
		s.write(append(oddTexts[s.strikeCount()%len(oddTexts)](whole), '\n'))
	},
}
