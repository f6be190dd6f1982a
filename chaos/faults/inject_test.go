package faults

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/internal/mcptest"
)

func TestMain(m *testing.M) { mcptest.Main(m) }

// patience bounds every wait. The awaited events take moments; the margin is for a busy machine.
const patience = 20 * time.Second

// operator is a host that has a tree and records its orders.
type operator struct {
	tree     Tree
	armed    []ArmRequest
	disarmed []string
	opened   []string
	closed   int
	reloads  atomic.Int64
	err      error
}

func (o *operator) Tree(context.Context) (Tree, error) { return o.tree, o.err }

func (o *operator) Arm(_ context.Context, order ArmRequest) (string, error) {
	if o.err != nil {
		return "", o.err
	}
	o.armed = append(o.armed, order)
	return fmt.Sprintf("fault-%d", len(o.armed)), nil
}

func (o *operator) Disarm(_ context.Context, id string) error {
	o.disarmed = append(o.disarmed, id)
	return nil
}

func (o *operator) Struck(_ context.Context, id string) (int, error) {
	return len(id), nil
}

func (o *operator) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	o.opened = append(o.opened, path)
	return &opened{o, ctx}, o.err
}

// opened is a response of the host that records when it is closed.
type opened struct {
	o   *operator
	ctx context.Context
}

func (b *opened) Read([]byte) (int, error) {
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}

func (b *opened) Close() error {
	b.o.closed++
	return nil
}

func (o *operator) Reload(context.Context) error {
	o.reloads.Add(1)
	return o.err
}

func site(k Kind, o *operator, with Values) *Site {
	s := &Site{
		Host: o, PID: os.Getpid(), Tenant: "acme", Row: "mcpd/tenants/acme/catalog",
		Duration: time.Minute,
		Params:   k.Defaults(), Rand: rand.New(rand.NewPCG(1, 2)),
	}
	for name, v := range with {
		s.Params[name] = v
	}
	return s
}

// Faults of actors are ordered from the host's registry, and end with the strike.
func TestFaultsOfActorsAreOrdered(t *testing.T) {
	path := "mcpd/tenants/acme/catalog"
	for _, c := range []struct {
		kind Kind
		with Values
		want ArmRequest
	}{
		{actorPanic, nil, ArmRequest{Action: "panic", Path: path, Count: 1, Lease: lease}},
		{actorPanic, Values{"count": 3, "message": "*request.Call"}, ArmRequest{
			Action: "panic", Path: path, Kind: "*request.Call", Count: 3, Lease: lease,
		}},
		{actorPanic, Values{"count": 0, "caused_by": "acme"}, ArmRequest{
			Action: "panic", Path: path, Tenant: "acme", Lease: lease,
		}},
		{actorHang, nil, ArmRequest{Action: "hang", Path: path, Count: 1, Lease: lease}},
		{actorHang, Values{"delay": time.Second}, ArmRequest{
			Action: "hang", Path: path, Count: 1, Delay: time.Second, Lease: lease,
		}},
		{actorSpin, nil, ArmRequest{
			Action: "spin", Path: path, Count: 1, Delay: time.Second, Lease: lease,
		}},
		{actorSlow, nil, ArmRequest{
			Action: "slow", Path: path, Delay: 10 * time.Millisecond, Lease: lease,
		}},
	} {
		o := &operator{}
		in, err := c.kind.Inject(t.Context(), site(c.kind, o, c.with))
		if err != nil || len(o.armed) != 1 || o.armed[0] != c.want || in.Target != path {
			t.Errorf("%s: %v, %+v at %s, want %+v", c.kind.Name, err, o.armed, in.Target, c.want)
			continue
		}
		if hits, err := in.Hits(t.Context()); hits != len("fault-1") || err != nil {
			t.Errorf("%s: %d hits, %v", c.kind.Name, hits, err)
		}
		if err := in.Heal(t.Context()); err != nil || len(o.disarmed) != 1 || o.disarmed[0] != "fault-1" {
			t.Errorf("%s: disarmed %v, %v", c.kind.Name, o.disarmed, err)
		}
	}
}

// Faults of servers and of the disk are ordered from the same registry.
func TestFaultsOfServersAndTheDiskAreOrdered(t *testing.T) {
	read := func(action string, count int, delay time.Duration) ArmRequest {
		return ArmRequest{
			Action: action, Place: "upstream.read", Tenant: "acme", Server: "demo", Count: count,
			Delay: delay, Lease: lease,
		}
	}
	dial := func(action string, delay time.Duration) ArmRequest {
		return ArmRequest{
			Action: action, Place: "upstream.dial", Tenant: "acme", Server: "demo", Delay: delay,
			Lease: lease,
		}
	}
	for _, c := range []struct {
		kind Kind
		want ArmRequest
	}{
		{clockStep, ArmRequest{Action: "ahead", Place: "hour", Delay: time.Hour, Lease: lease}},
		{logBlocked, ArmRequest{Action: "hang", Place: "log.write", Lease: lease}},
		{memoryFill, ArmRequest{Action: "fill", Place: "memory", Percent: 90, Lease: lease}},
		{upstreamCut, read("cut", 1, 0)},
		{upstreamDrop, read("drop", 0, 0)},
		{upstreamDuplicate, read("duplicate", 0, 0)},
		{upstreamGarble, read("garble", 0, 0)},
		{upstreamLate, read("late", 0, 65*time.Second)},
		{upstreamSlow, read("slow", 0, 10*time.Millisecond)},
		{upstreamTruncate, read("truncate", 0, 0)},
		{resolverMissing, dial("fail", 0)},
		{resolverSlow, dial("slow", 2*time.Second)},
		{storeReadOnly, ArmRequest{Action: "read_only", Place: "store.write", Lease: lease}},
		{storeFull, ArmRequest{Action: "fail", Place: "store.write", Lease: lease}},
		{storeSlow, ArmRequest{
			Action: "slow", Place: "store.sync", Delay: 2 * time.Second, Lease: lease,
		}},
	} {
		o := &operator{}
		s := site(c.kind, o, nil)
		s.Server = "demo"
		in, err := c.kind.Inject(t.Context(), s)
		if err != nil || len(o.armed) != 1 || o.armed[0] != c.want || in.Target == "" {
			t.Errorf("%s: %v, %+v at %s, want %+v", c.kind.Name, err, o.armed, in.Target, c.want)
		}
	}
}

// A negative step is ordered as the action "behind" with a positive delay.
func TestClocksAreSetBehind(t *testing.T) {
	o := &operator{}
	want := ArmRequest{Action: "behind", Place: "hour", Delay: 90 * time.Minute, Lease: lease}
	if _, err := clockStep.Inject(t.Context(),
		site(clockStep, o, Values{"by": -90 * time.Minute})); err != nil || o.armed[0] != want {
		t.Errorf("%+v, %v, want %+v", o.armed, err, want)
	}
}

// The responses to watchers that do not read are closed at the end, also when one watcher is
// refused.
func TestWatchersDoNotRead(t *testing.T) {
	o := &operator{}
	in, err := feedSlow.Inject(t.Context(), site(feedSlow, o, Values{"watchers": 5}))
	if err != nil {
		t.Fatal(err)
	}
	if hits, err := in.Hits(t.Context()); hits != 5 || err != nil || len(o.opened) != 5 ||
		o.closed != 0 {
		t.Errorf("%d hits, %v, opened %v, closed %d", hits, err, o.opened, o.closed)
	}
	for range 2 {
		if err := in.Heal(t.Context()); err != nil || o.closed != 5 {
			t.Errorf("%v, closed %d", err, o.closed)
		}
	}
	o.err = errors.New("refused")
	if _, err := feedSlow.Inject(t.Context(), site(feedSlow, o, nil)); !errors.Is(err, o.err) {
		t.Error(err)
	}
}

// The host draws the percentage of messages to strike, from a seed of the run.
func TestPartsAreSeeded(t *testing.T) {
	o := &operator{}
	s := site(actorSlow, o, nil)
	s.Percent = 5
	if _, err := actorSlow.Inject(t.Context(), s); err != nil || o.armed[0].Percent != 5 ||
		o.armed[0].Seed == 0 {
		t.Errorf("%+v, %v", o.armed, err)
	}
}

func TestRefusedOrdersAreErrors(t *testing.T) {
	refused := errors.New("refused")
	if _, err := actorPanic.Inject(t.Context(),
		site(actorPanic, &operator{err: refused}, nil)); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
}

// sleeper starts a process that can stand for a server of a host.
func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func withChild(pid int) *operator {
	return &operator{
		tree: Tree{{Path: "mcpd/tenants/acme/client_sup/demo/1/connection", Server: "demo", PID: pid}},
	}
}

func atDemo(k Kind, o *operator, with Values) *Site {
	s := site(k, o, with)
	s.Server, s.Row = "demo", ""
	return s
}

func TestChildrenAreKilled(t *testing.T) {
	for word, want := range map[string]syscall.Signal{"KILL": syscall.SIGKILL,
		"TERM": syscall.SIGTERM} {
		cmd := sleeper(t)
		in, err := childKill.Inject(t.Context(), atDemo(childKill, withChild(cmd.Process.Pid), Values{
			"signal": word,
		}))
		if err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != want {
			t.Errorf("%s: %v", word, err)
		}
		if hits, err := in.Hits(t.Context()); hits != 1 || err != nil || in.Heal(t.Context()) != nil {
			t.Errorf("%s: %d hits, %v", word, hits, err)
		}
	}
}

func TestChildrenAreStoppedUntilHealed(t *testing.T) {
	cmd := sleeper(t)
	in, err := childStop.Inject(t.Context(), atDemo(childStop, withChild(cmd.Process.Pid), nil))
	if err != nil {
		t.Fatal(err)
	}
	state(t, cmd.Process.Pid, 'T')
	for range 2 { // Heal may be called again
		if err := in.Heal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	state(t, cmd.Process.Pid, 'S')
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if err := in.Heal(t.Context()); err != nil {
		t.Errorf("a process that the host has replaced cannot be healed: %v", err)
	}
}

// state waits until a process is in a state.
func state(t *testing.T, pid int, want byte) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Skip("no /proc here:", err)
		}
		if _, rest, _ := strings.Cut(string(stat), ") "); rest[0] == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d is %s", pid, stat)
		}
	}
}

// F28: no signal ever reaches a process that does not descend from the host, whatever pid the
// host's tree reports.
func TestForeignProcessesAreLeftAlone(t *testing.T) {
	host, foreign := sleeper(t), sleeper(t)
	s := atDemo(childKill, withChild(foreign.Process.Pid), nil)
	s.PID = host.Process.Pid
	if _, err := childKill.Inject(t.Context(), s); !errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
	if err := foreign.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("it is gone: %v", err)
	}
}

func TestNothingToKillIsAnError(t *testing.T) {
	if _, err := childKill.Inject(t.Context(), atDemo(childKill, &operator{}, nil)); !errors.Is(err,
		ErrNoChild) {
		t.Errorf("%v", err)
	}
	s := atDemo(childKill, withChild(os.Getpid()), nil)
	s.PID = 0
	if _, err := childKill.Inject(t.Context(), s); err == nil ||
		!strings.Contains(err.Error(), "another machine") {
		t.Errorf("%v", err)
	}
}

// echo is a server that returns its input, and counts calls and open sessions.
func echo(t *testing.T) (url string, calls, sessions *atomic.Int64) {
	calls, sessions = new(atomic.Int64), new(atomic.Int64)
	var opened atomic.Int64
	var open sync.Map
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			if _, was := open.LoadAndDelete(r.Header.Get("Mcp-Session-Id")); was {
				sessions.Add(-1)
			}
			return
		}
		var m struct {
			ID     jsontext.Value `json:"id"`
			Method string         `json:"method"`
			Params struct {
				Arguments struct {
					Message string `json:"message"`
				} `json:"arguments"`
			} `json:"params"`
		}
		if err := json.UnmarshalRead(bufio.NewReader(r.Body), &m); err != nil {
			t.Error(err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch m.Method {
		case "initialize":
			sessions.Add(1)
			id := fmt.Sprint(opened.Add(1))
			open.Store(id, true)
			w.Header().Set("Mcp-Session-Id", id)
			fmt.Fprintf(
				w,
				`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`, m.ID,
			)
		case "tools/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}`, m.ID)
		case "tools/call":
			calls.Add(1)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`,
				m.ID, m.Params.Arguments.Message)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, calls, sessions
}
