package server

import "context"

var httpForget = Misbehaviour{
	Name: "http_forget", Description: "it forgets all its sessions, and answers 404 to who has one",
	servers: urlOnly,
	begin:   func(_ context.Context, s *server, _ Fault) { s.exchange.web.forget() },
}
