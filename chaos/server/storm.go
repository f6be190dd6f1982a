package server

import "context"

var storm = Misbehaviour{
	Name: "storm", Is: "it says all the time that its list of tools has changed",
	begin: func(ctx context.Context, s *server, f Fault) {
		s.while(ctx, f, func() {
			s.write([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n"))
			pause(ctx, f.Delay)
		})
	},
}
