package server

import (
	"context"
	"os"
)

var crash = Misbehaviour{
	Name: "crash", Description: "it exits now, and again whenever it is started", servers: stdioOnly,
	begin:        func(_ context.Context, _ *server, f Fault) { os.Exit(f.Code) },
	inNewProcess: func(_ *server, f Fault) { os.Exit(f.Code) },
}
