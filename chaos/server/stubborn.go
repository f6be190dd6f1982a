package server

import "context"

// stubborn is implemented by Serve, which checks at its end whether the fault is on.
var stubborn = Misbehaviour{
	Name: "stubborn", Description: "it ends neither with its input nor with SIGTERM",
	servers: stdioOnly,
	begin:   func(context.Context, *server, Fault) {},
}
