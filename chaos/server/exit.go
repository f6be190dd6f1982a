package server

import (
	"context"
	"os"
)

var exit = Misbehaviour{
	Name: "exit", Description: "it exits at once", at: aPipe,
	begin: func(_ context.Context, _ *server, f Fault) { os.Exit(f.Code) },
}
