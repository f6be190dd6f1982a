package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// Signals at any moment of a restart do not end a host, neither between one program and the next
// nor while the next one starts. The host has no terminal, so a SIGHUP does not mean that one has
// closed.
func TestSignalsDuringARestartEndNoHost(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"HUP": syscall.SIGHUP,
		"USR2": syscall.SIGUSR2} {
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
			time.Sleep(time.Second) // A restart may be under way.
			host.MCP = at
			serves(t, host)
		})
	}
}
