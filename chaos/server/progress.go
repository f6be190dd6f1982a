package server

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxProgress bounds the number of progress notifications of one call.
const maxProgress = 100_000

var progress = Misbehaviour{
	Name: "progress",
	Description: "it tells far more of a call's progress than anybody reads, and goes on after its " +
		"end",
	methods: []string{"tools/call"},
	sendReply: func(_ context.Context, s *server, f Fault, m message, r reply) {
		var p struct {
			Meta struct {
				Token jsontext.Value `json:"progressToken"`
			} `json:"_meta"`
		}
		_ = json.Unmarshal(m.Params, &p)
		if p.Meta.Token == nil {
			p.Meta.Token = jsontext.Value(`"nobody's"`)
		}
		tell := func(n int64) {
			s.write(
				fmt.Appendf(
					nil,
					`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`+"\n", p.Meta.Token, n,
				),
			)
		}
		for n := range min(f.Size, maxProgress) {
			tell(n)
		}
		s.write(encodeLine(m.ID, r))
		tell(0)
	},
}
