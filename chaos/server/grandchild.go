package server

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

var grandchild = Misbehaviour{
	Name: "grandchild",
	Description: "it exits and leaves a process behind, in a session of its own, that has its " +
		"standard " +
		"output", servers: stdioOnly,
	begin: func(_ context.Context, s *server, f Fault) {
		cmd := exec.Command("sleep", fmt.Sprint(int(time.Until(f.Until).Seconds())+1))
		cmd.Stdout, cmd.SysProcAttr = s.Out, &syscall.SysProcAttr{Setsid: true}
		_ = cmd.Start() // best effort: without a grandchild the server only exits
		os.Exit(f.Code)
	},
}
