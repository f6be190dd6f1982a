package server

import "context"

// What it does is in Serve, which asks whether it is on.
var stubborn = Misbehaviour{
	Name: "stubborn", Is: "it ends neither with its input nor with SIGTERM", at: aPipe,
	begin: func(context.Context, *server, Fault) {},
}
