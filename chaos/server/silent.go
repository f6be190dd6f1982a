package server

import "context"

var silent = Misbehaviour{
	Name: "silent", Description: "it never answers a call", of: []string{"tools/call"},
	reply: func(context.Context, *server, Fault, message, reply) {},
}
