package server

import (
	"bytes"
	"context"
)

var giant = Misbehaviour{
	Name: "giant", Description: "it writes a line that is longer than anybody reads",
	begin: func(_ context.Context, s *server, f Fault) {
		s.mu.Lock() // all parts are one line
		defer s.mu.Unlock()
		part := bytes.Repeat([]byte("x"), 64<<10)
		for left := f.Size; left > 0; left -= int64(len(part)) {
			if _, err := s.Out.Write(part[:min(left, int64(len(part)))]); err != nil {
				return // the client is gone
			}
		}
		_, _ = s.Out.Write([]byte("\n"))
	},
}
