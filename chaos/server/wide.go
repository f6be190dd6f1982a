package server

import (
	"context"
	"slices"
	"strconv"
)

// maxWide bounds the number of members, and so the message to some megabytes.
const maxWide = 1 << 20

var wide = Misbehaviour{
	Name: "wide", Description: "its results have more members than anybody needs",
	methods: []string{"tools/call"},
	sendReply: func(_ context.Context, s *server, f Fault, m message, _ reply) {
		whole := slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), m.ID,
			[]byte(`,"result":{"content":[],"structuredContent":{`))
		for i := range min(f.Size, maxWide) {
			if i > 0 {
				whole = append(whole, ',')
			}
			whole = append(strconv.AppendInt(append(whole, '"'), i, 10), `":0`...)
		}
		s.write(append(whole, "}}}\n"...))
	},
}
