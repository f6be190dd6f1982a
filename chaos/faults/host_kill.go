package faults

import (
	"context"
	"syscall"
)

var hostKill = Kind{
	Name: "host.kill", CatalogueIDs: []string{"F61"}, Aim: AtHost, Contends: true,
	Needs:       NeedSameMachine | NeedOwnHost,
	Description: "the host is killed, and started again at the end",
	Inject: func(_ context.Context, s *Site) (Injected, error) {
		return end(s, syscall.SIGKILL, nil)
	},
}
