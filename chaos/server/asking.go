package server

import (
	"context"
	"fmt"
)

// asked are the requests that a server can send to its clients.
var asked = []struct{ method, params string }{
	{"sampling/createMessage",
		`{"messages":[{"role":"user","content":{"type":"text","text":"well?"}}],"maxTokens":1}`},
	{"elicitation/create", `{"message":"well?","requestedSchema":{"type":"object","properties":{}}}`},
	{"roots/list", `{}`},
}

var asking = Misbehaviour{
	Name: "asking", Description: "it asks its clients all the time: for samples, for input, for roots",
	begin: func(ctx context.Context, s *server, f Fault) {
		n := 0
		s.repeat(ctx, f, func() {
			a := asked[n%len(asked)]
			n++
			s.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"ask-%d","method":%q,"params":%s}`+"\n", n,
				a.method, a.params))
			pause(ctx, f.Delay)
		})
	},
}
