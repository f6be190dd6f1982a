package server

import (
	"context"
	"io"
)

var closed = Misbehaviour{
	Name: "closed", Description: "it closes its standard output and lives on", servers: stdioOnly,
	begin: func(_ context.Context, s *server, _ Fault) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if c, ok := s.Out.(io.Closer); ok {
			_ = c.Close()
		}
	},
}
