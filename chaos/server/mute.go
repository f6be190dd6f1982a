package server

import (
	"context"
	"os"
)

var mute = Misbehaviour{
	Name:        "mute",
	Description: "it exits now, and does not answer the handshake whenever it is started",
	at:          aPipe,
	begin:       func(_ context.Context, _ *server, f Fault) { os.Exit(f.Code) },
	start:       func(*server, Fault) {},
	of:          []string{"initialize"},
	reply:       func(context.Context, *server, Fault, message, reply) {},
}
