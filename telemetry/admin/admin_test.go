package admin

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcpd/internal/fault"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// host is an admin listener that serves for one test.
type host struct {
	t        *testing.T
	url      string
	dir      string
	recorder *telemetry.Recorder
	faults   *fault.Registry
}

func start(t *testing.T, change func(*Options)) *host {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	tokens, err := CreateTokens(dir, Read, Write, Chaos)
	if err != nil {
		t.Fatal(err)
	}
	if err := tokens.Publish(":1"); err != nil {
		t.Fatal(err)
	}
	metrics := telemetry.NewMetrics(telemetry.MetricsOptions{Version: "1.0.0"})
	h := &host{
		t: t, dir: dir, recorder: telemetry.NewRecorder(telemetry.Options{Metrics: metrics}),
		faults: fault.New(nil),
	}
	h.faults.Watch(telemetry.Faulted(h.recorder.Emit))
	o := Options{
		Tree:     func() otp.Node { return small },
		Health:   func() Health { return Health{Phase: Serving} },
		Recorder: h.recorder,
		Metrics:  metrics.Gatherer(),
		Faults:   h.faults,
		Tokens:   tokens,
		Hosts:    []string{"mcpd.internal"},
	}
	if change != nil {
		change(&o)
	}
	server, err := Listen("127.0.0.1:0", Handler(o))
	if err != nil {
		t.Fatal(err)
	}
	server.server.ReadTimeout = 200 * time.Millisecond // streams must outlive it
	h.url = "http://" + server.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Serve = %v, want the context's error", err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return h
}

var small = otp.Node{
	ID: "mcpd", Path: "mcpd", Type: otp.SupervisorType, Status: otp.Running, Since: time.Unix(1000, 0),
}

// do sends a request. Headers are pairs of name and value; "Host" sets the host.
func (h *host) do(method, path, body string, headers ...string) (status int, header http.Header,
	answer string) {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	for pair := range slices.Chunk(headers, 2) {
		if pair[0] == "Host" {
			r.Host = pair[1]
		} else {
			r.Header.Add(pair[0], pair[1])
		}
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(raw)
}

func (h *host) bearer(s Scope) string {
	h.t.Helper()
	token, err := ReadToken(h.dir, ":1", s)
	if err != nil {
		h.t.Fatal(err)
	}
	return "Bearer " + token
}

func TestListenRefusesATakenPort(t *testing.T) {
	first, err := Listen("127.0.0.1:0", http.NotFoundHandler())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if second, err := Listen(first.Addr().String(), http.NotFoundHandler()); err == nil {
		second.Close()
		t.Errorf("two listeners on %s", first.Addr())
	}
	if up := first.UpEvent(); up.Name != "admin" || up.Addr != first.Addr().String() {
		t.Errorf("Up = %+v", up)
	}
}
