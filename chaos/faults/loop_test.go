package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// until waits for something that happens elsewhere.
func until(t *testing.T, label string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come", label)
		}
	}
}

// struck waits until an injected fault has struck that often, heals it twice, and returns the final
// number of hits.
func struck(t *testing.T, in Injected, times int) int {
	t.Helper()
	hits := func() int {
		n, err := in.Hits(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	until(t, fmt.Sprintf("%d hits", times), func() bool { return hits() >= times })
	for range 2 {
		if err := in.Heal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return hits()
}

// crashing is a host that starts its server again whenever the server was killed.
type crashing struct {
	operator
	t      *testing.T
	now    *exec.Cmd
	starts int
}

func (c *crashing) Tree(ctx context.Context) (Tree, error) {
	if c.now == nil || c.now.ProcessState != nil {
		c.now = sleeper(c.t)
		c.starts++
		return nil, nil // it is being started
	}
	tree := withChild(c.now.Process.Pid).tree
	if c.now.Process.Signal(syscall.Signal(0)) != nil {
		_ = c.now.Wait()
	}
	return tree, nil
}

// A crash loop kills every process that appears, each once.
func TestCrashLoopKillsWhateverComes(t *testing.T) {
	c := &crashing{t: t}
	s := atDemo(childCrash, nil, Values{"every": 10 * time.Millisecond})
	s.Host = c
	in, err := childCrash.Inject(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if hits := struck(t, in, 1); hits > c.starts {
		t.Errorf("%d hits of %d processes", hits, c.starts)
	}
}

func TestReloadStorm(t *testing.T) {
	o := &operator{}
	s := site(reloadStorm, o, Values{"every": time.Millisecond})
	in, err := reloadStorm.Inject(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	struck(t, in, 3)

	o.err = errors.New("refused")
	before := o.reloads.Load()
	if in, err = reloadStorm.Inject(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	until(t, "two reloads", func() bool { return o.reloads.Load() >= before+2 })
	if err := in.Heal(t.Context()); !errors.Is(err, o.err) {
		t.Errorf("%v", err)
	}
}

// A host is stopped until it is healed. It is killed only where the run can start it again.
func TestHostsAreStoppedAndKilled(t *testing.T) {
	cmd := sleeper(t)
	s := site(hostStop, &operator{}, nil)
	s.PID = cmd.Process.Pid
	in, err := hostStop.Inject(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	state(t, s.PID, 'T')
	if err := in.Heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	state(t, s.PID, 'S')

	if _, err := hostKill.Inject(t.Context(), s); !errors.Is(err, ErrNotOurs) {
		t.Errorf("%v", err)
	}
	started := 0
	s.Start = func(context.Context) error { started++; return nil }
	if in, err = hostKill.Inject(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) ||
		exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("%v", err)
	}
	for range 2 {
		if err := in.Heal(t.Context()); err != nil || started != 1 {
			t.Errorf("started %d times, %v", started, err)
		}
	}
	s.PID = 0
	for _, k := range []Kind{hostStop, hostKill} {
		if _, err := k.Inject(t.Context(), s); err == nil {
			t.Errorf("%s: a host elsewhere is signalled", k.Name)
		}
	}
}

// The fault that makes starts fail comes with the crash that causes the starts. Both end together.
func TestStartsFailAfterACrash(t *testing.T) {
	o := &operator{}
	in, err := actorStart.Inject(t.Context(), site(actorStart, o, Values{"count": 6}))
	path := "mcpd/tenants/acme/catalog"
	want := []ArmRequest{
		{Action: "fail", Place: "init", Path: path, Count: 6, Lease: lease},
		{Action: "panic", Path: path, Count: 1, Lease: lease},
	}
	if err != nil || len(o.armed) != 2 || o.armed[0] != want[0] || o.armed[1] != want[1] {
		t.Fatalf("%+v, %v, want %+v", o.armed, err, want)
	}
	if err := in.Heal(t.Context()); err != nil || len(o.disarmed) != 2 {
		t.Errorf("disarmed %v, %v", o.disarmed, err)
	}
}

func atClient(k Kind, url string, with Values) *Site {
	s := site(k, &operator{}, with)
	s.Client = Client{URL: url, Key: "secret", Tool: "echo", Argument: "message"}
	return s
}

// A slow reader blocks the writes of the host until it is healed.
func TestSlowReadersHoldUpTheirAnswers(t *testing.T) {
	var written atomic.Int64
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" || r.Header.Get("Mcp-Session-Id") != "1" {
			t.Errorf("%v", r.Header)
		}
		for range 64 { // far more than the kernel buffers
			n, err := w.Write(bytes.Repeat([]byte("x"), 1<<20))
			if written.Add(int64(n)); err != nil {
				return
			}
		}
	})
	in, err := clientSlow.Inject(t.Context(), atClient(clientSlow, url, Values{
		"clients": 1, "size": int64(100),
	}))
	if err != nil {
		t.Fatal(err)
	}
	last, since := int64(-1), time.Now()
	until(t, "a write that waits", func() bool {
		if n := written.Load(); n != last {
			last, since = n, time.Now()
		}
		return last > 0 && time.Since(since) > 200*time.Millisecond
	})
	if err := in.Heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := written.Load(); n >= 64<<20 {
		t.Errorf("all of %d bytes were written", n)
	}
	if hits, _ := in.Hits(t.Context()); hits != 1 {
		t.Errorf("%d hits", hits)
	}
}

// serve passes the calls of a session to handle; it opens and ends the session itself.
func serve(t *testing.T, handle http.HandlerFunc) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodDelete:
		case r.Header.Get("Mcp-Session-Id") == "":
			w.Header().Set("Mcp-Session-Id", "1")
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(
				w,
				`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`,
			)
		case r.ContentLength < 80: // notifications/initialized
			w.WriteHeader(http.StatusAccepted)
		default:
			handle(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}

// Clients that vanish do not wait for an answer.
func TestVanishingClientsAreGone(t *testing.T) {
	var gone atomic.Int64
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		var all bytes.Buffer
		_, _ = all.ReadFrom(r.Body) // so that the end of the connection is seen
		select {
		case <-r.Context().Done():
			gone.Add(1)
		case <-time.After(patience):
		}
	})
	in, err := clientVanish.Inject(t.Context(), atClient(clientVanish, url, Values{
		"clients": 2, "within": 200 * time.Millisecond,
	}))
	if err != nil {
		t.Fatal(err)
	}
	struck(t, in, 2)
	until(t, "the end of a connection", func() bool { return gone.Load() > 0 })
}

// Connections whose headers never end stay open until the server closes them or the fault is
// healed.
func TestTricklesAreOpenUntilTheyAreCut(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	in, err := clientTrickle.Inject(t.Context(),
		atClient(clientTrickle, "http://"+listener.Addr().String()+"/mcp", Values{
			"clients": 1, "pause": time.Millisecond,
		}))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the client reconnects after it is cut off
		conn, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len("POST /mcp HTTP/1.1\r\n")+100)
		if n, err := conn.Read(got); err != nil ||
			!bytes.HasPrefix(got[:n], []byte("POST /mcp HTTP/1.1\r\n")) {
			t.Errorf("%q, %v", got[:n], err)
		}
		_ = conn.Close()
	}
	_ = listener.Close()
	struck(t, in, 1)
}

// Sessions that come and go leave none behind.
func TestChurnLeavesNoSession(t *testing.T) {
	url, _, sessions := echo(t)
	in, err := clientChurn.Inject(t.Context(), atClient(clientChurn, url, Values{
		"clients": 3, "every": time.Millisecond,
	}))
	if err != nil {
		t.Fatal(err)
	}
	struck(t, in, 10)
	if n := sessions.Load(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

// Clients that were never served report so at the end.
func TestClientsThatNeverStruckTellWhy(t *testing.T) {
	var asked atomic.Int64
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the client may see a reset before the response
		asked.Add(1)
		w.WriteHeader(http.StatusForbidden)
	})
	in, err := clientSlow.Inject(t.Context(), atClient(clientSlow, url, Values{"clients": 1}))
	if err != nil {
		t.Fatal(err)
	}
	until(t, "two requests", func() bool { return asked.Load() >= 2 })
	if err := in.Heal(t.Context()); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("%v", err)
	}
}
