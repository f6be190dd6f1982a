package faults

import (
	"context"
	"syscall"
)

var hostTerm = Kind{
	Name: "host.term", CatalogueIDs: []string{"F60"}, Aim: AtHost, Contends: true,
	Needs: NeedSameMachine | NeedOwnHost,
	Description: "the host is told to stop, as by an operator, and started again at the end, or " +
		"when it " +
		"has stopped if that is later",
	Inject: func(_ context.Context, s *Site) (Injected, error) { return end(s, syscall.SIGTERM, nil) },
}
