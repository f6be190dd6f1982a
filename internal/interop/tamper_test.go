package interop

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcpd/internal/mcptest"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/telemetry/admin"
)

// callStateless sends a stateless request of a client that can answer every kind of question. More
// are members of its params, each followed by a comma.
func (w *wire) callStateless(id, method, name, more string) reply {
	w.t.Helper()
	key := "name"
	if method == "resources/read" {
		key = "uri"
	}
	return w.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%q:%q,%s"_meta":{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{},"roots":{}}}}}`,
		id, method, key, name,
		more), "Mcp-Protocol-Version", modern, "Mcp-Method", method, "Mcp-Name", name)
}

// callForState calls a tool that asks the user, and returns the state for the retry.
func (w *wire) callForState(tool, text string) (state string) {
	w.t.Helper()
	r := w.callStateless("1", "tools/call", tool, `"arguments":{"text":"`+text+`"},`)
	if got := string(r.result(w.t, "resultType")); got != `"input_required"` {
		w.t.Fatalf("got %s", r.body)
	}
	state, _ = jsonedit.Unquote(r.result(w.t, "requestState"))
	return state
}

// retry retries the call with an answer to every question of a fixture's tool, under all possible
// keys.
func (w *wire) retry(tool, text, state string) reply {
	w.t.Helper()
	answer := `{"action":"accept","content":{"name":"ann"}}`
	return w.callStateless("2", "tools/call", tool,
		`"arguments":{"text":"`+text+`"},"requestState":`+string(jsonedit.Quote(state))+
			`,"inputResponses":{"it":`+answer+`,"elicit-1":`+answer+`},`)
}

// accepted checks that the call continued.
func (r reply) accepted(t *testing.T) {
	t.Helper()
	m := r.message(t)
	if m.Error != nil || !strings.Contains(string(m.Result), "accept ann") {
		t.Errorf("got %d %s", r.status, r.body)
	}
}

// refused checks that the host refused the state. The error is the same for every fault of the
// state.
func (r reply) refused(t *testing.T, label string) {
	t.Helper()
	const want = `{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"requestState is invalid or expired","data":{"reason":"state_invalid","state":"requestState"}}}`
	if got := r.message(t); string(got.Append(nil)) != want {
		t.Errorf("%s: got %d %s", label, r.status, r.body)
	}
}

// startAskingHost starts a host whose servers ask the user. The host holds the calls of past; free
// asks in the results of its calls.
func startAskingHost(t *testing.T, limits string, o mcptest.HostOptions) (host *mcptest.Host,
	as func(who, server string) *wire) {
	t.Helper()
	servers := fmt.Sprintf("{past: %s, free: {url: %q}}", selfConfig(t, serveOld, "past"),
		serveStateless(t, newFixture("free").modernOnly()))
	o.Config = fmt.Sprintf(`limits: {%s}
tenants:
  acme: {auth: {keys: [%s, %s]}, servers: %s}
  zeta: {auth: {keys: [%s]}, servers: %s}
`, limits, keyConfig("ann", "key-of-ann"), keyConfig("bob", "key-of-bob"), servers,
		keyConfig("zoe", "key-of-zoe"), servers)
	host = mcptest.Start(t, o)
	tenants := map[string]string{"ann": "acme", "bob": "acme", "zoe": "zeta"}
	return host, func(who, server string) *wire {
		return newWire(t, host.MCP+"/t/"+tenants[who]+"/"+server+"/mcp", "key-of-"+who)
	}
}

// A requestState is valid only unchanged, and only for the client that got it and for the same
// request (S17-S39). A refusal gives no reason, and does not affect a client that uses the state
// correctly.
func TestRequestStateIsBound(t *testing.T) {
	_, as := startAskingHost(t, "input_timeout: 1m", mcptest.HostOptions{})
	for _, server := range []string{"past", "free"} {
		t.Run(server, func(t *testing.T) {
			ann := as("ann", server)
			state := ann.callForState("elicit", "a name")
			raw, err := base64.RawURLEncoding.DecodeString(state[strings.LastIndexByte(state, '.')+1:])
			// The payload must not show its content.
			if err == nil {
				for _, secret := range []string{"a name", "ann", "acme", server} {
					if strings.Contains(string(raw), secret) {
						t.Errorf("the state shows %q", secret)
					}
				}
			}
			for name, s := range map[string]string{
				"something behind": state + "-TAMPERED", "cut": state[:len(state)-1],
				"half": state[:len(state)/2], "empty": "", "foreign": "v1.k1.AAAA",
				"spaces": " " + state, "case": strings.ToUpper(state), "twice": state + state,
				"long": strings.Repeat("A", 60000), "zero": "\x00" + state[1:],
			} {
				ann.retry("elicit", "a name", s).refused(t, name)
			}
			for i := 0; i < len(state); i += 1 + len(state)/40 {
				changed := []byte(state)
				changed[i] ^= 1
				ann.retry("elicit", "a name", string(changed)).refused(t, fmt.Sprint("bit in byte ", i))
			}
			as("bob", server).retry("elicit", "a name", state).refused(t, "another principal")
			as("zoe", server).retry("elicit", "a name", state).refused(t, "another tenant")
			other := map[string]string{"past": "free", "free": "past"}[server]
			as("ann", other).retry("elicit", "a name", state).refused(t, "another server")
			ann.retry("elicit", "another name", state).refused(t, "other arguments")
			ann.retry("sample", "a name", state).refused(t, "another tool")
			ann.callStateless("2", "prompts/get", "greet",
				`"arguments":{"text":"a name"},"requestState":`+string(jsonedit.Quote(state))+`,`).refused(t,
				"another method")
			ann.retry("elicit", "a name", state).accepted(t)
		})
	}
}

// A held call accepts one answer, however many clients send an answer at the same time.
func TestRequestStateIsGoodOnce(t *testing.T) {
	_, as := startAskingHost(t, "input_timeout: 1m", mcptest.HostOptions{})
	ann := as("ann", "past")
	state := ann.callForState("elicit", "a name")
	const together = 8
	replies := make(chan reply, together)
	var all sync.WaitGroup
	for range together {
		all.Go(func() { replies <- ann.retry("elicit", "a name", state) })
	}
	all.Wait()
	went := 0
	for range together {
		r := <-replies
		if strings.Contains(string(r.body), "accept ann") {
			went++
		} else {
			r.refused(t, "together")
		}
	}
	if went != 1 {
		t.Errorf("%d of %d went on, want 1", went, together)
	}
	ann.retry("elicit", "a name", state).refused(t, "afterwards")
}

// A client that retries too late gets the same refusal as any other client, and its old call then
// delays no other.
func TestRequestStateExpires(t *testing.T) {
	_, as := startAskingHost(t, "input_timeout: 2s", mcptest.HostOptions{})
	for _, server := range []string{"past", "free"} {
		ann := as("ann", server)
		state := ann.callForState("elicit", "a name")
		time.Sleep(2500 * time.Millisecond)
		ann.retry("elicit", "a name", state).refused(t, server)
		ann.retry("elicit", "a name", ann.callForState("elicit", "a name")).accepted(t)
	}
}

// If a server dies while a call waits for its user, that call is lost, but not the next one.
func TestHeldCallIsLostWithItsServer(t *testing.T) {
	host, as := startAskingHost(t, "input_timeout: 1m", mcptest.HostOptions{})
	ann := as("ann", "past")
	state := ann.callForState("elicit", "a name")
	var pids []int
	for line := range strings.Lines(host.Log()) {
		var e struct {
			Event, Server string
			PID           int
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Event == "upstream_ready" && e.Server == "past" {
			pids = append(pids, e.PID)
		}
	}
	if len(pids) == 0 {
		t.Fatal("no server is running")
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the host notices", func() bool {
		return strings.Contains(host.Log(), `"upstream_exited"`) ||
			strings.Count(host.Log(), `"upstream_ready"`) > len(pids)
	})
	r := ann.retry("elicit", "a name", state)
	if m := r.message(t); m.Error == nil ||
		m.Error.Code != jsonrpc.CodeInvalidParams && m.Error.Code != -32603 {
		t.Errorf("got %d %s", r.status, r.body)
	}
	ann.retry("elicit", "a name", state).refused(t, "once more")
	ann.retry("elicit", "a name", ann.callForState("elicit", "a name")).accepted(t)
}

// If the actor of a held call crashes, the request that it was handling gets an error. The call
// continues, and accepts the next retry.
func TestHeldCallOutlivesItsActor(t *testing.T) {
	home := t.TempDir()
	host, as := startAskingHost(t, "input_timeout: 1m", mcptest.HostOptions{
		Args: []string{"--chaos"}, Env: []string{"XDG_RUNTIME_DIR=" + home},
	})
	token, err := admin.ReadToken(filepath.Join(home, "mcpd"),
		strings.TrimPrefix(host.Admin, "http://"), admin.Chaos)
	if err != nil {
		t.Fatal(err)
	}
	ann := as("ann", "past")
	state := ann.callForState("elicit", "a name")
	armed := newWire(t, host.Admin+"/admin/v1/faults", token).post(
		`{"action":"panic","path":"mcpd/tenants/acme/held_sup/*","kind":"*held.Retry","count":1,"lease":"60s"}`)
	if armed.status > 299 {
		t.Fatalf("fault: %d %s", armed.status, armed.body)
	}
	if m := ann.retry("elicit", "a name", state).message(t); m.Error == nil ||
		m.Error.Code != -32603 ||
		!strings.Contains(string(m.Error.Data), `"incident"`) {
		t.Errorf("the one that it crashed on: got %v", m)
	}
	ann.retry("elicit", "a name", state).accepted(t)
	eventually(t, "a crash in the log", func() bool {
		return strings.Contains(host.Log(), "injected panic")
	})
	ann.retry("elicit", "a name", ann.callForState("elicit", "a name")).accepted(t)
}

// eventually waits for a condition that the test expects to become true.
func eventually(t *testing.T, label string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", label, patience)
		}
	}
}
