package interop

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mcpd/internal/mcptest"
)

// A host may open no more files. Clients with a session continue, running servers keep running, and
// a client that needs a server that is not running gets the reason. The host answers probes and new
// clients that send a request, however many connections are idle. When it can open files again, it
// serves all clients within a second.
func TestHostWithoutDescriptors(t *testing.T) {
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf("tenants: {default: {servers: "+
		"{runs: %s, waits: %s}}}\n",
		selfConfig(t, serveOld, "runs"), selfConfig(t, serveOld, "waits"))})
	w := newWire(t, host.MCP+"/runs/mcp", "")
	w.open(legacy)
	echo := func(id int) {
		t.Helper()
		r := w.post(
			fmt.Sprintf(
				`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"still here"}}}`, id,
			),
		)
		if r.status != http.StatusOK || !strings.Contains(string(r.body), "still here") {
			t.Errorf("an open session: %d %s", r.status, r.body)
		}
	}
	echo(2)
	other := newWire(t, host.MCP+"/waits/mcp", "")
	other.do(http.MethodGet, host.MCP+"/", "") // opens its connection

	limit := func(l *unix.Rlimit) (was unix.Rlimit) {
		t.Helper()
		if err := unix.Prlimit(host.PID(), unix.RLIMIT_NOFILE, l, &was); err != nil {
			t.Fatal(err)
		}
		return was
	}
	was, files := limit(nil), uint64(1)
	for unused(t, host.PID(), files) < 5 {
		files++
	}
	limit(&unix.Rlimit{Cur: files, Max: was.Max})
	// These clients connect and send nothing. The host closes some of them to accept others.
	for range 40 {
		c, err := net.Dial("tcp", strings.TrimPrefix(host.MCP, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	eventually(t, "no descriptor left", func() bool { return unused(t, host.PID(), files) == 0 })
	for _, path := range []string{"/livez", "/readyz"} {
		for range 8 { // more than the listener has spare descriptors
			connections := &http.Transport{}
			r, err := (&http.Client{Transport: connections, Timeout: 2 * time.Second}).Get(host.Admin + path)
			if err != nil || r.StatusCode != http.StatusOK {
				t.Fatalf("%s without descriptors: %v %v", path, r, err)
			}
			r.Body.Close()
			connections.CloseIdleConnections()
		}
	}
	echo(3)
	next := &http.Transport{}
	if r, err := (&http.Client{Transport: next, Timeout: 10 * time.Second}).Get(host.MCP +
		"/"); err != nil {
		t.Errorf("a client that comes and asks while others only come: %v", err)
	} else {
		r.Body.Close()
	}
	next.CloseIdleConnections()
	if r := other.post(hello); !strings.Contains(string(r.body), "RLIMIT_NOFILE") {
		t.Errorf("a server that cannot be started: %d %s", r.status, r.body)
	}

	limit(&was)
	back := time.Now()
	if r, err := http.Get(host.MCP + "/"); err != nil || time.Since(back) > 3*time.Second {
		t.Errorf("a client with files there again: %v after %v", err, time.Since(back))
	} else {
		r.Body.Close()
	}
	echo(5)
	eventually(t, "the server started", func() bool {
		return strings.Contains(string(other.post(hello).body), "fixture-waits")
	})
}

// unused returns how many numbers below a limit are not open files of a process.
func unused(t *testing.T, pid int, limit uint64) uint64 {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	n := limit
	for _, e := range entries {
		if fd, err := strconv.ParseUint(e.Name(), 10, 64); err == nil && fd < limit {
			n--
		}
	}
	return n
}
