package server

import (
	"bytes"
	"context"
	"os"
)

var stderr = Misbehaviour{
	Name:        "stderr",
	Description: "it writes to standard error as fast as it can, without ends of lines",
	servers:     stdioOnly,
	begin: func(ctx context.Context, s *server, f Fault) {
		many := bytes.Repeat([]byte("all is well\x00"), 1000)
		s.repeat(ctx, f, func() { _, _ = os.Stderr.Write(many) })
	},
}
