package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"mcpd/gateway/config"
)

// nearServer is a host with far servers of either era, and its one tenant.
type nearServer struct {
	*testing.T
	host *Running
	url  string
	far  map[string]*far
}

func copying(t *testing.T) *nearServer {
	n := &nearServer{T: t, far: map[string]*far{}}
	servers := ""
	for name, modern := range map[string]bool{"old": false, "new": true} {
		f := &far{modern: modern, release: make(chan struct{})}
		s := httptest.NewServer(f)
		t.Cleanup(s.Close)
		t.Cleanup(f.releases)
		n.far[name] = f
		servers += fmt.Sprintf("%s: {url: %q}, ", name, s.URL)
	}
	c, err := config.Load(
		[]byte(`{listen: "127.0.0.1:0", admin: {listen: "127.0.0.1:0"}, tenants: {acme: {servers: {`+
			servers+`}}}}`), config.Options{Builtins: Builtins},
	)
	if err != nil {
		t.Fatal(err)
	}
	if n.host, err = Start(t.Context(), c,
		Options{Logger: slog.New(slog.DiscardHandler), Memory: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.host.Run(ctx) }() // owner: this test, whose cleanup waits for it
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	address, _ := n.host.Addrs()
	n.url = address
	return n
}

// at returns the same host for a subtest.
func (n *nearServer) at(t *testing.T) *nearServer {
	here := *n
	here.T = t
	return &here
}

// live returns how many bytes are on the heap, and how many of them count for the tenant.
func (n *nearServer) live() (live, kept int64) {
	for range 3 { // pooled memory goes with the second collection
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	for _, h := range n.host.Kept() {
		kept += h.Kept
	}
	return int64(m.HeapAlloc), kept
}

// rests waits until no more counts than before.
func (n *nearServer) rests(counted int64) {
	n.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, kept := n.live()
		if kept <= counted+copied/2 {
			return
		}
		if time.Now().After(end) {
			n.Errorf("%d KiB count in the end", (kept-counted)>>10)
			return
		}
	}
}

// counts waits until this many large messages are in memory, and all of them count.
func (n *nearServer) counts(before, counted int64, messages int) {
	n.Helper()
	slack := int64(messages * besideCall)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		live, kept := n.live()
		live, kept = live-before, kept-counted
		if live >= int64(messages*copied)-slack && live <= kept+slack {
			n.Logf("%.2f of each are live, and %.2f count", float64(live)/float64(messages*copied),
				float64(kept)/float64(messages*copied))
			return
		}
		if time.Now().After(end) {
			n.Fatalf("%d KiB are live, and %d count", live>>10, kept>>10)
		}
	}
}

// ways calls each with every way of a call through the host.
func ways(each func(path, prefix, server string, modern bool)) {
	for _, modern := range []bool{false, true} {
		for _, server := range []string{"old", "new"} {
			each("/t/acme/"+server+"/mcp", "", server, modern)
			each("/t/acme/mcp", server+"__", server, modern)
		}
	}
}
