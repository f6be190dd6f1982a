//lint:file-ignore SA1019 what 2026-07-28 deprecates is what older clients use

package chaos

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// announced is how many notifications a server sends while the dispatcher crashes.
const announced = 40

// S4-119, S4-101, I10: the notification dispatcher. The requirements allow notifications to be lost
// while it is away. Here the waiting notifications arrive in order, whether the dispatcher crashes
// on some of them or on its own work. Only the notifications that crash it are dropped, and they
// are counted.
func TestChaosNotificationDispatcherCrash(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind        string
		times, lost int
	}{
		{"*notification.Dispatch", 1, 1},
		{"*notification.Dispatch", inARow, inARow},
		{"notification.drain", 1, 0},
		{"notification.drain", inARow, 0},
	} {
		t.Run(tt.kind+" "+strconv.Itoa(tt.times), func(t *testing.T) {
			t.Parallel()
			a := open(t, "")
			var heard []int
			came := make(chan int, announced)
			a.survives(crash{
				path: "mcpd/tenants/acme/notification_dispatcher", kind: tt.kind, times: tt.times,
				trigger: func(a *arena, _ *mcp.ClientSession) {
					defer occupy(a)()
					defer announce(a, came)()
					for len(heard) < announced-tt.lost {
						select {
						case n := <-came:
							heard = append(heard, n)
						case <-time.After(patience):
							a.t.Fatalf("only %v came", heard)
						}
					}
				},
			})
			if !slices.IsSorted(heard) || len(slices.Compact(heard)) != announced-tt.lost {
				t.Errorf("came: %v, want all but %d in order", heard, tt.lost)
			}
			if got := a.metric("mcpd_notifications_dropped_total",
				`reason="poisonous"`); got != float64(tt.lost) {
				t.Errorf("dropped as poisonous: %v, want %d", got, tt.lost)
			}
		})
	}
}

// busy is more than one call, so that log messages of the server belong to none of the calls.
const busy = 2

// occupy keeps acme's server busy until end is called. Log messages of a server during its only
// call go on the stream of that call, which has no order relative to the session's own stream, and
// do not pass through the dispatcher.
func occupy(a *arena) (end func()) {
	a.t.Helper()
	started := make(chan struct{}, busy)
	s, leave := a.client(acme, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{},
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
			started <- struct{}{}
		},
	})
	ctx, cancel := context.WithCancel(a.t.Context())
	var calls sync.WaitGroup
	for n := range busy {
		params := &mcp.CallToolParams{
			Name:      "files__progress",
			Arguments: map[string]any{"steps": 1, "millis": time.Minute.Milliseconds()},
		}
		params.SetProgressToken(n)
		calls.Go(func() {
			if _, err := s.CallTool(ctx, params); ctx.Err() == nil {
				a.t.Errorf("a call that was to keep the server busy ended: %v", err)
			}
		})
	}
	for range busy {
		select {
		case <-started:
		case <-time.After(patience):
			a.t.Fatal("the server is not busy")
		}
	}
	return func() { cancel(); calls.Wait(); leave() }
}

// announce makes acme's server log its count. It returns a function that ends the listening client.
func announce(a *arena, came chan<- int) (end func()) {
	a.t.Helper()
	s, end := a.listener(func(text string) {
		if n, err := strconv.Atoi(text); err == nil {
			came <- n
		}
	})
	for n := range announced {
		a.must(s, "files__log", map[string]any{"message": strconv.Itoa(n)})
	}
	return end
}

// listener is a client of acme that receives log messages.
func (a *arena) listener(hear func(text string)) (*mcp.ClientSession, func()) {
	a.t.Helper()
	s, end := a.client(acme, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{},
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			if text, ok := r.Params.Data.(string); ok {
				hear(text)
			}
		}})
	if err := s.SetLoggingLevel(a.t.Context(), &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
		a.t.Fatal(err)
	}
	return s, end
}
