package server

import (
	"context"
	"os"
)

var mute = Misbehaviour{
	Name:         "mute",
	Description:  "it exits now, and does not answer the handshake whenever it is started",
	servers:      stdioOnly,
	begin:        func(_ context.Context, _ *server, f Fault) { os.Exit(f.Code) },
	inNewProcess: func(*server, Fault) {},
	methods:      []string{"initialize"},
	sendReply:    func(context.Context, *server, Fault, message, reply) {},
}
