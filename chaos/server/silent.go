package server

import "context"

var silent = Misbehaviour{
	Name: "silent", Description: "it never answers a call", methods: []string{"tools/call"},
	sendReply: func(context.Context, *server, Fault, message, reply) {},
}
