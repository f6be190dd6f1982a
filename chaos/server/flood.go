package server

import (
	"bytes"
	"context"
	"time"
)

var flood = Misbehaviour{
	Name: "flood", Description: "it logs as fast as it can",
	begin: func(ctx context.Context, s *server, f Fault) {
		many := bytes.Repeat(
			[]byte(
				`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"all is well"}}`+"\n",
			), 100,
		)
		s.repeat(ctx, f, func() { s.write(many) })
	},
}

// repeat calls do until the fault is over or switched off, or the client is gone.
func (s *server) repeat(ctx context.Context, f Fault, do func()) {
	for ctx.Err() == nil && f.on(time.Now()) && s.current() == f {
		do()
	}
}
