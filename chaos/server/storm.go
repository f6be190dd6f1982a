package server

import "context"

var storm = Misbehaviour{
	Name: "storm", Description: "it says all the time that its list of tools has changed",
	begin: func(ctx context.Context, s *server, f Fault) {
		s.repeat(ctx, f, func() {
			s.announce()
			pause(ctx, f.Delay)
		})
	},
}
