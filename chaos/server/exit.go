package server

import (
	"context"
	"os"
)

var exit = Misbehaviour{
	Name: "exit", Description: "it exits at once", servers: stdioOnly,
	begin: func(_ context.Context, _ *server, f Fault) { os.Exit(f.Code) },
}
