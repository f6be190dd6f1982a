package stdio

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"mcpd/protocol/jsonrpc"
)

// BenchmarkSpawn measures starting and reaping a child, from Start until none of its processes is
// left: without a guard, and as the daemon does it.
func BenchmarkSpawn(b *testing.B) {
	for name, o := range map[string]SpawnerOptions{"alone": {},
		"daemon": {Instance: "bench", Daemon: true}} {
		b.Run(name, func(b *testing.B) {
			s := NewSpawner(o)
			s.turns.rate = rate{} // as fast as possible
			defer s.Close(context.Background())
			for b.Loop() {
				child, err := s.Start(b.Context(), Spec{Command: "/bin/true"})
				if err != nil {
					b.Fatal(err)
				}
				<-child.Gone()
				if err := child.Stop(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkGuard measures how long the first child of a daemon waits for the guard, and the guard's
// last look.
func BenchmarkGuard(b *testing.B) {
	var begun time.Duration
	for b.Loop() {
		at := time.Now()
		w := watch("bench", nil, func(Remark) {})
		begun += time.Since(at)
		w.close()
	}
	b.ReportMetric(float64(begun.Nanoseconds())/float64(b.N), "ns/start")
}

func BenchmarkRoundTrip(b *testing.B) {
	s := NewSpawner(SpawnerOptions{})
	defer s.Close(context.Background())
	child, err := s.Start(b.Context(), Spec{Command: os.Args[0], Env: map[string]string{role: "echo"}})
	if err != nil {
		b.Fatal(err)
	}
	c := NewConn(child, Options{})
	defer c.Close(context.Background())
	params := []byte(`{"name":"echo","arguments":{"text":"` + strings.Repeat("x", 200) + `"}}`)
	for _, window := range []int{1, 32} {
		b.Run(fmt.Sprintf("window=%d", window), func(b *testing.B) {
			b.ReportAllocs()
			ctx := b.Context()
			id := uint64(0)
			for sent, got := 0, 0; got < b.N; got++ {
				for ; sent < b.N && sent-got < window; sent++ {
					id++
					if err := c.Send(ctx, jsonrpc.Request(jsonrpc.IntID(id), "tools/call", params)); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := c.Recv(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
