package server

import (
	"bytes"
	"context"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// maxLevels bounds the depth of nesting, and so the message to a megabyte.
const maxLevels = 1 << 19

var deep = Misbehaviour{
	Name: "deep", Description: "its results are nested deeper than anybody needs",
	methods: []string{"tools/call"},
	sendReply: func(_ context.Context, s *server, f Fault, m message, _ reply) {
		n := int(min(f.Size, maxLevels))
		nested := slices.Concat([]byte(`{"content":[],"structuredContent":{"a":`),
			bytes.Repeat([]byte("["), n), bytes.Repeat([]byte("]"), n), []byte("}}"))
		s.write(slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), m.ID, []byte(`,"result":`),
			jsontext.Value(nested), []byte("}\n")))
	},
}
