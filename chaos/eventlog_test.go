package chaos

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpd/gateway/config"
	"mcpd/internal/clock"
	"mcpd/internal/fault"
	"mcpd/internal/load"
	"mcpd/supervisor"
	"mcpd/supervisor/otp"
)

// S4-97: the event log, in tier 4. It crashes under load: no call is affected, the host stays
// ready, and the log continues and contains the crash. The row is a loop that receives no messages
// of its own. Therefore this test runs the host in its own process and sends the row the message to
// crash on.
func TestChaosEventLogCrash(t *testing.T) {
	t.Parallel()
	c, err := config.Load(
		[]byte("listen: 127.0.0.1:0\nadmin: {listen: 127.0.0.1:0}\ntenants: {default: {servers: {near: "+
			"{builtin: demo}}}}"), config.Options{Builtins: supervisor.Builtins},
	)
	if err != nil {
		t.Fatal(err)
	}
	log, faults := &text{}, fault.New(clock.System)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	// ends of sessions are logged at that level
	logger := slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	host, err := supervisor.Start(ctx, c, supervisor.Options{Logger: logger, Faults: faults})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- host.Run(ctx) }() // ends with ctx; the test waits for it below

	mcp, admin := host.Addrs()
	client, err := load.Connect(ctx, load.SessionOptions{
		URL: "http://" + mcp + "/near/mcp", Tool: "echo", Argument: "message",
	})
	if err != nil {
		t.Fatal(err)
	}
	const row = "mcpd/observability/event_log"
	at, ok := host.Whereis(row)
	if !ok {
		t.Fatal("no row " + row)
	}
	calls := make(chan load.Result, 1)
	go func() { // ends after its calls; the test waits for it below
		r, err := load.Run(ctx, []load.Client{client}, load.Options{
			Clock: clock.System, Workers: loadWorkers, Rate: loadRate, Calls: loadRate / 2, For: time.Minute,
			Timeout: loadTimeout,
		})
		if err != nil {
			t.Error(err)
		}
		calls <- r
	}()

	const crashes = 3
	if _, err := faults.Arm(fault.Fault{Action: fault.Panic, Point: fault.Point{Path: row},
		Count: crashes, Lease: time.Minute}); err != nil {
		t.Fatal(err)
	}
	for n := range uint64(crashes) {
		for at.Incarnation() != n+1 || at.Send(struct{}{}) != nil {
			time.Sleep(time.Millisecond)
		}
	}
	r := <-calls
	if !r.Clean() || r.Counts.OK != loadRate/2 {
		t.Errorf("calls: %+v, errors %v", r.Counts, r.Errors)
	}
	if got := get(t, "http://"+admin+"/readyz"); got != http.StatusOK {
		t.Errorf("readyz: %d", got)
	}
	if n := find(host.Snapshot(), row); n.Restarts != crashes || n.Incarnation != crashes+1 {
		t.Errorf("row: %d restarts, incarnation %d", n.Restarts, n.Incarnation)
	}
	if n := find(host.Snapshot(), "mcpd/observability"); n.Restarts != 0 {
		t.Errorf("its supervisor: %d restarts", n.Restarts)
	}
	if err := client.Close(ctx); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, want := range []string{"child_crashed", "child_restarted", "session_closed"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %s in the log", want)
		}
	}
}

func find(n otp.Node, path string) otp.Node {
	if n.Path == path {
		return n
	}
	for _, c := range n.Children {
		if found := find(c, path); found.Path == path {
			return found
		}
	}
	return otp.Node{}
}

func get(t *testing.T, url string) int {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	return r.StatusCode
}

// text is a log in memory.
type text struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (x *text) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.Write(p)
}

func (x *text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.String()
}
