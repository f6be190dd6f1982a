package chaos

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"mcpd/gateway/config"
	"mcpd/internal/clock"
	"mcpd/internal/fault"
	"mcpd/internal/load"
	"mcpd/internal/mcptest"
	"mcpd/supervisor"
	"mcpd/supervisor/otp"
)

// A supervisor near the root, or a listener, crashes. For a supervisor only a bug in the actor
// library can cause that. The row is started again with everything below it, the process lives on,
// and a client continues in its session. These rows receive no messages of their own, so this test
// runs the host in its own process.
func TestChaosRowNearTheRootCrash(t *testing.T) {
	for _, name := range []string{"core", "tenants", "listeners", "listeners/mcp", "admin"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := fmt.Sprintf("listen: 127.0.0.1:0\nadmin: {listen: 127.0.0.1:0}\n"+
				"tenants: {default: {servers: {near: {builtin: demo}, far: {command: %q}}}}", mcptest.Server(t))
			c, err := config.Load([]byte(text), config.Options{Builtins: supervisor.Builtins})
			if err != nil {
				t.Fatal(err)
			}
			faults := fault.New(clock.System)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			host, err := supervisor.Start(ctx, c, supervisor.Options{
				Logger: slog.New(slog.DiscardHandler), Faults: faults, State: t.TempDir(),
			})
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- host.Run(ctx) }() // ends with ctx; the test waits for it below

			listens, admin := host.Addrs()
			dial := func(server string) *load.Session {
				t.Helper()
				s, err := load.Connect(ctx, load.SessionOptions{
					URL: "http://" + listens + "/" + server + "/mcp", Tool: "echo", Argument: "message",
				})
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			serves := func(s *load.Session) {
				t.Helper()
				for until := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
					limited, cancel := context.WithTimeout(ctx, 5*time.Second)
					_, err := s.Call(limited, "n1-1")
					cancel()
					if err == nil {
						return
					}
					if time.Now().After(until) {
						t.Fatalf("not served: %v", err)
					}
				}
			}
			near, far := dial("near"), dial("far")
			serves(near)
			serves(far)
			path := "mcpd/" + name
			at, ok := host.Whereis(path)
			if !ok {
				t.Fatal("no row " + path)
			}
			const crashes = 3
			for n := range uint64(crashes) {
				if _, err := faults.Arm(fault.Fault{Action: fault.Panic, Point: fault.Point{Path: path},
					Count: 1, Lease: time.Minute}); err != nil {
					t.Fatal(err)
				}
				for at.Incarnation() != n+1 || at.Send(struct{}{}) != nil {
					time.Sleep(time.Millisecond)
				}
				for find(host.Snapshot(), path).Status != otp.Running || at.Incarnation() != n+2 {
					time.Sleep(time.Millisecond)
				}
				serves(near)
				serves(far)
			}
			if got := get(t, "http://"+admin+"/readyz"); got != http.StatusOK {
				t.Errorf("readyz: %d", got)
			}
			for _, s := range []*load.Session{near, far, dial("near")} {
				serves(s)
				if err := s.Close(ctx); err != nil {
					t.Error(err)
				}
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}
