package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// Signals that come at any moment of a restart end no host: neither between one program and the
// next, nor while that starts. There is no terminal that SIGHUP could be the end of.
func TestSignalsDuringARestartEndNoHost(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"HUP": syscall.SIGHUP, "USR2": syscall.SIGUSR2} {
		t.Run(name, func(t *testing.T) {
			host := mcptest.Start(t, mcptest.HostOptions{Config: withServer(t)})
			at := host.MCP
			const restarts = 2
			for n := range restarts {
				must(t, syscall.Kill(host.PID(), syscall.SIGUSR2))
				for end := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
					if err := syscall.Kill(host.PID(), signal); err != nil {
						t.Fatalf("restart %d: the host has ended: %v\n%s", n, err, host.Log())
					}
					if strings.Count(host.Log(), `"event":"listener_up","name":"mcp"`) > n+1 {
						break
					}
					if time.Now().After(end) {
						t.Fatalf("restart %d: it is not back:\n%s", n, host.Log())
					}
				}
			}
			time.Sleep(time.Second) // a restart may be under way
			host.MCP = at
			serves(t, host)
		})
	}
}
