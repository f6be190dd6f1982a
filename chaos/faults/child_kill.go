package faults

import (
	"context"
	"os"
	"syscall"
)

// signals maps the names that experiments use to the signals that end a server.
var signals = map[string]os.Signal{
	"KILL": syscall.SIGKILL, "TERM": syscall.SIGTERM, "SEGV": syscall.SIGSEGV,
}

var childKill = Kind{
	Name: "child.kill", CatalogueIDs: []string{"F15", "F16"}, Aim: AtProgram, Fatal: true,
	Needs:       NeedSameMachine,
	Description: "the process of a server is killed",
	Params: []Param{
		{Name: "signal", Type: Text, Default: "KILL", Words: []string{"KILL", "TERM", "SEGV"},
			Description: "with what"},
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		c, err := child(ctx, s)
		if err != nil {
			return Injected{}, err
		}
		defer c.process.Release() //nolint:errcheck // it closes a descriptor
		if err := c.process.Signal(signals[s.Params.Text("signal")]); err != nil {
			return Injected{}, err
		}
		return done(c.String()), nil
	},
}
