package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpd/internal/mcptest"
	"mcpd/protocol/jsonedit"
)

// memoryHost is a host of 256 MiB with two tenants. acme makes the host keep as much data as
// possible; initech keeps next to nothing.
type memoryHost struct {
	*testing.T
	host  *mcptest.Host
	admin *wire // one connection, because the metrics are read often
}

func newMemoryHost(t *testing.T) *memoryHost {
	servers := fmt.Sprintf("servers: {keeper: %s, past: {url: %q}}",
		selfConfig(t, serveKeeper, "keeper"),
		serveWithSessions(t, newFixture("past").legacyOnly()))
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(
		"limits: {memory: 256MiB}\ntenants:\n  acme: {auth: {keys: [%s]}, %s}\n  initech: {auth: "+
			"{keys: [%s]}, %s}\n",
		keyConfig("ann", "key-of-ann"), servers, keyConfig("bill", "key-of-bill"), servers)})
	return &memoryHost{t, host, newWire(t, "", "")}
}

// acme returns a client of the tenant that makes the host keep data, and initech one of the other
// tenant.
func (k *memoryHost) acme(server string) *wire {
	return newWire(k, k.host.MCP+"/t/acme/"+server+"/mcp", "key-of-ann")
}
func (k *memoryHost) initech() *wire {
	return newWire(k, k.host.MCP+"/t/initech/keeper/mcp", "key-of-bill")
}

// bystander lets initech make calls and open sessions until the test ends. It fails the test for
// each refusal.
func (k *memoryHost) bystander() {
	k.Helper()
	w := k.initech()
	w.ctx = context.WithoutCancel(k.Context()) // the test's context ends before the cleanup
	w.open("2025-11-25")
	var calls sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	n := 0
	calls.Go(func() {
		for ; ctx.Err() == nil; n++ {
			if r := w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}}}`); r.status != 200 || !strings.Contains(string(r.body), `"text":"y"`) {
				k.Errorf("call %d of the other tenant: %d %s", n, r.status, r.body)
			}
			if n%20 == 0 {
				other := k.initech()
				other.ctx = w.ctx
				other.open("2025-11-25")
				other.close()
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	k.Cleanup(func() {
		stop()
		if calls.Wait(); n < 10 {
			k.Errorf("the other tenant has made %d calls", n)
		}
	})
}

// kinds returns the kept bytes of a tenant by kind, according to the metrics.
func (k *memoryHost) kinds(tenant string) map[string]float64 {
	k.Helper()
	kinds := map[string]float64{}
	r := k.admin.do(http.MethodGet, k.host.Admin+"/metrics", "")
	for line := range strings.Lines(string(r.body)) {
		var value float64
		labels, found := strings.CutPrefix(line, "mcpd_kept_bytes{kind=\"")
		if kind, rest, _ := strings.Cut(labels, `",tenant="`+tenant+`"} `); found && rest != "" {
			fmt.Sscan(rest, &value)
			kinds[kind] = value
		}
	}
	return kinds
}

// resident returns the resident memory of the host's process in MiB.
func (k *memoryHost) resident() (mib int) {
	k.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", k.host.PID()))
	if err != nil {
		k.Fatal(err)
	}
	_, rss, _ := strings.Cut(string(status), "VmRSS:")
	fmt.Sscan(rss, &mib)
	return mib >> 10
}

// checkRefusal checks that a refusal names the tenant, the reason and the retry delay. It reports
// whether r is a refusal.
func (k *memoryHost) checkRefusal(r reply, kind string) (refused bool) {
	k.Helper()
	if r.status == http.StatusOK {
		return false
	}
	var m struct {
		Error struct {
			Message string
			Data    struct {
				Kept, Limit  int64
				Kinds        map[string]int64
				RetryAfterMs int64
			}
		}
	}
	if err := json.Unmarshal(r.body, &m); err != nil {
		k.Errorf("%d %.300s: %v", r.status, r.body, err)
	}
	d := m.Error.Data
	if r.status != http.StatusServiceUnavailable ||
		!strings.HasPrefix(m.Error.Message, "tenant acme is overloaded: acme keeps ") ||
		d.Kinds[kind] < d.Kept/2 || d.Kept < d.Limit*3/4 || d.Kept > 128<<20 || d.RetryAfterMs < 1000 ||
		d.RetryAfterMs > 5000 || r.header.Get("Retry-After") == "" {
		k.Errorf("the refusal says %d %v %.500s", r.status, r.header, r.body)
	}
	return true
}

// checkReleased checks that acme is served within 5 s after it has released its data, and that the
// host keeps no data of the given kinds for it.
func (k *memoryHost) checkReleased(nothing ...string) {
	k.Helper()
	let := time.Now()
	for w := k.acme("keeper"); ; time.Sleep(50 * time.Millisecond) {
		r := w.callStateless("1", "tools/call", "echo", "")
		if r.status == http.StatusOK && strings.Contains(string(r.body), `"text":"y"`) {
			break
		}
		if time.Since(let) > 5*time.Second {
			k.Fatalf("%v after letting go: %d %s", time.Since(let), r.status, r.body)
		}
	}
	for _, kind := range nothing {
		eventually(k.T, kind+" let go of", func() bool { return k.kinds("acme")[kind] == 0 })
	}
}

const largeArgumentSize = 3 << 20

func padded(n int) string {
	return fmt.Sprintf(`"arguments":{"n":%d,"pad":"%s"},`, n, strings.Repeat("x", largeArgumentSize))
}

// elicited makes a call with large arguments that asks the user.
func elicited(w *wire, n int) reply {
	return w.callStateless("1", "tools/call", "elicit", padded(n))
}

// answer retries such a call with the user's answer.
func (k *memoryHost) answer(w *wire, n int, asked reply) {
	k.Helper()
	state, _ := jsonedit.Unquote(asked.result(k.T, "requestState"))
	r := w.callStateless("2", "tools/call", "elicit",
		padded(n)+`"requestState":`+string(jsonedit.Quote(state))+
			`,"inputResponses":{"elicit-1":{"action":"accept","content":{"name":"ann"}}},`)
	if !strings.Contains(string(r.body), "accept ann") {
		k.Errorf("answer %d: %d %.300s", n, r.status, r.body)
	}
}

// The host keeps no data of an answered call. The test makes sixty calls (thirty with the race
// detector) with 3 MiB each, one after the other.
func TestAnsweredCallsKeepNothing(t *testing.T) {
	k := newMemoryHost(t)
	k.bystander()
	w := k.acme("past") // its questions identify their call
	for n := range unlessRaced(60, 30) {
		r := elicited(w, n)
		if r.status != http.StatusOK {
			t.Fatalf("call %d: %d %.300s", n, r.status, r.body)
		}
		k.answer(w, n, r)
	}
	k.checkReleased("requests", "held_calls")
}

// A tenant reaches its share by calls that its client does not continue.
func TestHeldCallsFillTheirTenantsShare(t *testing.T) {
	k := newMemoryHost(t)
	k.bystander()
	w := k.acme("past") // its questions identify their call
	var held []reply
	for {
		r := elicited(w, len(held))
		if k.checkRefusal(r, "requests") {
			break
		}
		if held = append(held, r); len(held) > 60 {
			t.Fatal("nothing is refused")
		}
	}
	t.Logf("%d calls are held, %v; %d MiB resident", len(held), k.kinds("acme"), k.resident())
	if r := elicited(w, -1); !k.checkRefusal(r, "requests") {
		t.Errorf("one more: %d", r.status)
	}
	eventually(t, "readiness to say whose it is", func() bool {
		r := newWire(t, "", "").do(http.MethodGet, k.host.Admin+"/readyz", "")
		return r.status == http.StatusOK && strings.Contains(string(r.body), `"degraded"`) &&
			strings.Contains(string(r.body), "refused because it keeps too much: acme keeps ")
	})
	tree := string(newWire(t, "", "").do(http.MethodGet, k.host.Admin+"/admin/v1/tree", "").body)
	if strings.Count(tree, `"keeps":"`) != 1 ||
		!strings.Contains(tree, " MiB, more than its share of 28.8 MiB: requests ") {
		t.Errorf("the tree does not say whose it is: %s", tree)
	}
	eventually(t, "the log to say whose it is", func() bool {
		return strings.Contains(k.host.Log(), `"event":"tenant_refused","tenant":"acme"`)
	})
	for n, r := range held {
		k.answer(w, n, r)
	}
	k.checkReleased("requests", "held_calls")
}

// A tenant reaches its share by task results that no client fetches. If there is no room for a
// result, the host does not keep it, and the client gets that reason.
func TestResultsOfTasksFillTheirTenantsShare(t *testing.T) {
	k := newMemoryHost(t)
	k.bystander()
	w := k.acme("keeper")
	w.open("2025-11-25")
	var made []string
	failed := 0
	for n := range 40 {
		r := w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"job","arguments":{"bytes":4000000},"task":{"ttl":600000}}}`)
		id, _ := jsonedit.GetString(r.result(t, "task"), "taskId")
		made = append(made, id)
		eventually(t, fmt.Sprint("task ", n, " to be over"), func() bool {
			got := string(w.post(about("tasks/get", id)).body)
			if strings.Contains(got, `"status":"failed"`) {
				failed++
				reason := string(w.post(about("tasks/result", id)).body)
				if !strings.Contains(reason,
					"there was no room to keep its result: tenant acme is overloaded: acme keeps ") ||
					!strings.Contains(reason, `"maybeExecuted":true`) {
					t.Errorf("task %d failed with %.500s", n, reason)
				}
				return true
			}
			return strings.Contains(got, `"status":"completed"`)
		})
	}
	kinds := k.kinds("acme")
	t.Logf("%d of %d results were not kept, %v; %d MiB resident", failed, len(made), kinds,
		k.resident())
	if failed == 0 || failed > 30 || kinds["tasks"] > 90<<20 {
		t.Errorf("%d results were not kept of %d: %v", failed, len(made), kinds)
	}
	for _, id := range made { // fetched results make room
		w.post(about("tasks/result", id))
	}
	r := w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"job","arguments":{"bytes":4000000},"task":{"ttl":600000}}}`)
	id, _ := jsonedit.GetString(r.result(t, "task"), "taskId")
	eventually(t, "a result to be kept again", func() bool {
		return strings.Contains(string(w.post(about("tasks/get", id)).body), `"status":"completed"`)
	})
	k.checkReleased("requests")
}

// A tenant reaches its share by tasks with large arguments, whose outcomes no client fetches. The
// host refuses the next task. A fetched outcome makes room.
func TestTasksFillTheirTenantsShare(t *testing.T) {
	k := newMemoryHost(t)
	k.bystander()
	w := k.acme("keeper")
	w.open("2025-11-25")
	pad := strings.Repeat("x", largeArgumentSize)
	begin := func(n int) reply {
		return w.post(
			fmt.Sprintf(
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"job","arguments":{"n":%d,"bytes":1,"pad":"%s"},"task":{"ttl":600000}}}`, n, pad,
			),
		)
	}
	var made []string
	for {
		r := begin(len(made))
		if k.checkRefusal(r, "tasks") {
			break
		}
		id, _ := jsonedit.GetString(r.result(t, "task"), "taskId")
		if made = append(made, id); len(made) > 60 {
			t.Fatal("nothing is refused")
		}
	}
	t.Logf("%d tasks are kept, %v; %d MiB resident", len(made), k.kinds("acme"), k.resident())
	if r := begin(-1); !k.checkRefusal(r, "tasks") {
		t.Errorf("one more: %d", r.status)
	}
	for _, id := range made { // fetching releases them
		w.post(about("tasks/result", id))
	}
	k.checkReleased("requests")
	let := time.Now()
	for n := range made { // the same number again
		for r := begin(n); ; r = begin(n) {
			if r.status == http.StatusOK && strings.Contains(string(r.body), `"taskId"`) {
				break
			}
			if time.Since(let) > 5*time.Second {
				t.Fatalf("%v after letting go: task %d: %d %.300s", time.Since(let), n, r.status, r.body)
			}
		}
		if n == 0 {
			t.Logf("a task is made again %v after letting go", time.Since(let))
		}
		let = time.Now()
	}
}

func about(method, task string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"taskId":%q}}`, method, task)
}

// The host keeps messages sent during calls for clients that reconnect, within the tenant's share.
// It refuses no request because of them, not even of the tenant itself.
func TestHistoriesFillTheirTenantsShare(t *testing.T) {
	k := newMemoryHost(t)
	k.bystander()
	for range 40 {
		w := k.acme("keeper")
		w.open("2025-11-25")
		for range 4 {
			r := w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"logs","arguments":{"bytes":100000,"count":9}}}`)
			if r.status != http.StatusOK || !strings.Contains(string(r.body), `"text":"y"`) {
				t.Fatalf("%d %.300s", r.status, r.body)
			}
		}
	}
	kinds := k.kinds("acme")
	t.Logf("%v; %d MiB resident", kinds, k.resident())
	if kinds["histories"] < 10<<20 || kinds["histories"] > 44<<20 {
		t.Errorf("kept: %v; want as much as the tenant may", kinds)
	}
	k.checkReleased()
}

// Large results that no client reads stay at their server once the tenant has reached its limit.
func TestResultsThatNobodyReadsStayAtTheirServer(t *testing.T) {
	k := newMemoryHost(t)
	k.bystander()
	w := k.acme("keeper")
	w.open("2025-11-25")
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"big","arguments":{"bytes":12000000}}}`
	var all []net.Conn
	for range 16 {
		c, err := net.Dial("tcp", strings.TrimPrefix(k.host.MCP, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		all = append(all, c)
		fmt.Fprintf(c, "POST /t/acme/keeper/mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+
			"key-of-ann\r\nContent-Type: application/json\r\nAccept: application/json, "+
			"text/event-stream\r\n"+
			"Mcp-Session-Id: %s\r\nMcp-Protocol-Version: 2025-11-25\r\nContent-Length: %d\r\n\r\n%s",
			w.header.Get("Mcp-Session-Id"), len(body), body)
	}
	eventually(t, "results to wait", func() bool { return k.kinds("acme")["answers"] > 20<<20 })
	time.Sleep(3 * time.Second)
	t.Logf("%v; %d MiB resident", k.kinds("acme"), k.resident())
	for _, c := range all {
		c.Close()
	}
	k.checkReleased("answers", "requests")
}

// A tenant reaches its share by results of held calls that its client does not continue.
func TestResultsOfHeldCallsFillTheirTenantsShare(t *testing.T) {
	k := newMemoryHost(t)
	k.bystander()
	w := k.acme("keeper")
	held := map[string]bool{}
	for range 30 {
		r := w.callStateless("1", "tools/call", "early", `"arguments":{"bytes":8000000},`)
		if k.checkRefusal(r, "held_calls") {
			break
		}
		state, _ := jsonedit.Unquote(r.result(t, "requestState"))
		held[state] = true
		// The result soon arrives, however busy the machine is, unless there is no room for it.
		for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
			kept := k.kinds("acme")["held_calls"]
			if kept >= 8_000_000*float64(len(held)) || time.Since(begin) > 2*time.Second ||
				kept > 80_000_000 && time.Since(begin) > 400*time.Millisecond {
				break
			}
		}
	}
	t.Logf("%d calls, %v; %d MiB resident", len(held), k.kinds("acme"), k.resident())
	if got := k.kinds("acme")["held_calls"]; got < 60<<20 || got > 100<<20 {
		t.Errorf("%v bytes of results are kept", got)
	}
	told := 0
	for state := range held {
		var r reply
		eventually(t, "a call to have its outcome", func() bool {
			r = w.callStateless("2", "tools/call", "early",
				`"arguments":{"bytes":8000000},"requestState":`+string(jsonedit.Quote(state))+
					`,"inputResponses":{},`)
			// asked again, the call has another state
			if strings.Contains(string(r.body), `"input_required"`) {
				state, _ = jsonedit.Unquote(r.result(t, "requestState"))
				return false
			}
			return true
		})
		if strings.Contains(string(r.body), "there was no room to keep its result") {
			told++
		} else if len(r.body) < 8_000_000 {
			t.Errorf("%d %.300s", r.status, r.body)
		}
	}
	if len(held) == 30 && told == 0 {
		t.Error("nobody was refused anything")
	}
	k.checkReleased("held_calls", "requests")
}
