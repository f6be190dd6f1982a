package stdio

import (
	"context"
	"testing"
	"time"

	"mcpd/transport"
)

// A connection releases all its room, however it ends: after half a line has come, or before Recv
// is called again after a large message.
func TestConnectionLeavesNoRoomTaken(t *testing.T) {
	for _, role := range []string{"half", "large"} {
		budget := transport.NewByteBudget(1 << 20)
		c := NewConn(start(t, newTestSpawner(t), spec(role)), Options{Room: budget})
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error, 1)
		go func() { // owner: the test waits for it
			_, err := c.Recv(ctx)
			got <- err
		}()
		for end := time.Now().Add(patience); role == "half"; time.Sleep(time.Millisecond) {
			if now, _ := budget.Used(); now >= 1<<20 {
				break
			}
			if time.Now().After(end) {
				t.Fatal("no line has begun")
			}
		}
		if role == "half" {
			cancel()
		}
		if err := <-got; (err != nil) != (role == "half") {
			t.Fatalf("%s: got %v", role, err)
		}
		cancel()
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if now, _ := budget.Used(); now != 0 {
			t.Errorf("%s: %d bytes of room are taken after the end", role, now)
		}
	}
}
