package server

import "context"

// stubborn is implemented by Serve, which checks at its end whether the fault is on.
var stubborn = Misbehaviour{
	Name: "stubborn", Description: "it ends neither with its input nor with SIGTERM", at: aPipe,
	begin: func(context.Context, *server, Fault) {},
}
