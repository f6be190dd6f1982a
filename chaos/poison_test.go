package chaos

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"mcpd/internal/mcptest"
	mcpdv1 "mcpd/proto/gen/mcpd/v1"
)

// poisonous is how many requests are sent while each of their messages at one row causes a panic.
const poisonous = 1000

// hanging is how many requests are sent while they hang, and hangWait is how long their clients
// wait for each.
const (
	hanging  = 64
	hangWait = 2 * time.Second
)

var long = flag.Bool("long", false,
	"let requests of a tenant hang each row that they reach; without it, the session manager")

// poisoned are the rows at which messages of acme's can be made to panic or to hang. Rows of the
// core are shared.
var poisoned = []poisonedRow{
	{row: "mcpd/tenants/acme/request_manager"},
	{row: "mcpd/tenants/acme/notification_dispatcher"},
	{row: "mcpd/tenants/acme/catalog"},
	{row: "mcpd/tenants/acme/client_sup/files/", prefix: true},
	{row: "mcpd/tenants/acme/held_sup"},
	{row: "mcpd/tenants/acme/held_sup/", prefix: true},
	{row: "mcpd/tenants/acme/task_sup"},
	{row: "mcpd/tenants/acme/task_sup/", prefix: true},
	{row: "mcpd/tenants/acme/server_sup"},
	{row: "mcpd/tenants/acme/server_sup/", prefix: true},
	{row: "mcpd/core/storage", shared: true},
	{row: "mcpd/core/protocol_version", shared: true},
	{row: "mcpd/core/capabilities", shared: true},
	{row: "mcpd/core/session_manager", shared: true, hangs: true},
	{row: "mcpd/core/process_manager", shared: true},
	{row: "mcpd/core/process_manager", shared: true, place: "routine"},
}

type poisonedRow struct {
	row    string
	prefix bool // of rows that come and go
	shared bool
	hangs  bool   // without -long too
	place  string // of the fault; empty is where messages are received
}

func (p poisonedRow) String() string {
	return strings.Trim(strings.ReplaceAll(p.row, "/", "_")+"_"+p.place, "_")
}

// A thousand poisonous requests to each row of a tenant, and to each shared row that its messages
// reach, affect only that tenant. The other tenant loses no call and no session, no shared row
// ends, and the tenant is back as soon as its operator releases it.
func TestPoisonOfOneTenantHarmsNobodyElse(t *testing.T) {
	t.Parallel()
	harmless(t, "panic", poisonous, 10*time.Second, poisoned)
}

// The same when requests hang. A shared row is stuck until its actor is replaced, and then accepts
// no messages of that tenant. The other tenant's sessions are not affected.
func TestHangOfOneTenantHarmsNobodyElse(t *testing.T) {
	t.Parallel()
	rows := poisoned
	if !*long {
		rows = slices.DeleteFunc(slices.Clone(rows), func(p poisonedRow) bool { return !p.hangs })
	}
	harmless(t, "hang", hanging, hangWait, rows)
}

func harmless(t *testing.T, action string, requests int, wait time.Duration, rows []poisonedRow) {
	t.Helper()
	a := open(t, fmt.Sprintf("demo: {builtin: demo}\nold: {command: %q, max_version: 2025-11-25}",
		mcptest.Server(t)))
	kept, _ := a.client(globex, nil)
	a.must(kept, "files__echo", map[string]any{"message": "x"})
	for _, p := range rows {
		t.Run(p.String(), func(t *testing.T) {
			a := &arena{Host: a.Host, t: t, token: a.token, write: a.write, home: a.home}
			bystander := a.load(globex, "files__echo")
			bystander.flows(globex, 20)
			before := a.rows()
			path, tenant := p.row, ""
			if p.prefix {
				path += "*"
			}
			if p.shared {
				tenant = acme
			}
			a.operates(acme, "restart") // ends work for clients that are gone
			id := a.poison(action, p.place, path, tenant)
			if p.shared {
				a.operates(acme, "restart") // messages that start the tenant count too
			}
			told := a.batters(requests, wait)
			// the host does not replace core/storage when it hangs
			if *long && action == "hang" && !p.prefix && p.place == "" && p.row != "mcpd/core/storage" {
				a.replaced(p.row, before)
			}
			struck := a.heals(id)
			bystander.flows(globex, 20)
			a.clean(globex, bystander.end())
			if struck == 0 {
				t.Errorf("none of %d requests reached %s: %v", requests, p.row, told)
			}
			for path, n := range a.rows().restarted(before) {
				if !strings.HasPrefix(path, "mcpd/tenants/acme") && path != p.row {
					t.Errorf("%s was restarted %d times", path, n)
				}
			}
			a.operates(acme, "release")
			s, end := a.client(acme, nil)
			defer end()
			a.eventually("serving acme", func() bool {
				_, err := a.call(s, "files__echo", map[string]any{"message": "back"})
				return err == nil
			})
			t.Logf("%d strikes; answers by status: %v", struck, told)
		})
	}
	a.must(kept, "files__echo", map[string]any{"message": "the session of the beginning"})
	if n := a.rows()["mcpd/tenants/globex"]; n.GetRestarts() != 0 || n.GetIncarnation() != 1 {
		t.Errorf("globex: %v", n)
	}
}

// replaced waits until the actor of a hanging row is replaced, or is stopped with its tenant. On a
// busy machine this takes longer than the five seconds after which the host replaces a hanging
// actor.
func (a *arena) replaced(row string, before rows) {
	a.t.Helper()
	for until := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		now := a.rows()
		if now.restarted(before)[row] > 0 || now[row].GetStatus() != "running" {
			return
		}
		if time.Now().After(until) {
			a.t.Errorf("%s was not replaced within a minute", row)
			return
		}
	}
}

// A tenant with a row that crashes at each start does not start. It is paused for longer each time,
// and its clients are told so. The other tenant is not affected. The tenant is back when it can
// start.
func TestTenantThatCrashesAtItsStartHarmsNobodyElse(t *testing.T) {
	t.Parallel()
	a := open(t, "")
	kept, _ := a.client(globex, nil)
	a.must(kept, "files__echo", map[string]any{"message": "x"})
	bystander := a.load(globex, "files__echo")
	for _, row := range []string{"", "/request_manager", "/task_manager"} {
		bystander.flows(globex, 20)
		id := a.poison("panic", "init", "mcpd/tenants/acme"+row, "")
		before := a.rows()
		if got := a.operates(acme, "restart"); got != "paused" {
			t.Errorf("%q: restarted, acme is %s", row, got)
		}
		if status, header, body := a.greets(acme, key(acme)); status != http.StatusServiceUnavailable ||
			header.Get("Retry-After") == "" || !strings.Contains(body, `"incident":"`) {
			t.Errorf("%q: its client is told %d, Retry-After %q, %s", row, status,
				header.Get("Retry-After"), body)
		}
		a.eventually("tried again", func() bool { return len(a.ofKind("tenant_resumed")) > 0 })
		if struck := a.heals(id); struck == 0 {
			t.Errorf("%q does not crash", row)
		}
		a.operates(acme, "release")
		s, end := a.client(acme, nil)
		a.must(s, "files__echo", map[string]any{"message": "back"})
		end()
		for path, n := range a.rows().restarted(before) {
			if !strings.HasPrefix(path, "mcpd/tenants/acme") {
				t.Errorf("%q: %s was restarted %d times", row, path, n)
			}
		}
	}
	bystander.flows(globex, 20)
	a.clean(globex, bystander.end())
	a.must(kept, "files__echo", map[string]any{"message": "the session of the beginning"})
}

// poison arms a fault at each message of a row, or at each message that a tenant has caused.
func (a *arena) poison(action, place, path, tenant string) (id string) {
	a.t.Helper()
	var f mcpdv1.Fault
	text := a.ask(http.MethodPost, "/admin/v1/faults",
		fmt.Sprintf(`{"action":%q,"place":%q,"path":%q,"tenant":%q,"lease":"90s"}`, action, place,
			path, tenant))
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(text),
		&f); err != nil {
		a.t.Fatalf("%v in %s", err, text)
	}
	return f.GetId()
}

// heals disarms a fault and returns how often it has struck.
func (a *arena) heals(id string) uint32 {
	a.t.Helper()
	var all mcpdv1.FaultList
	text := a.ask(http.MethodGet, "/admin/v1/faults", "")
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(text),
		&all); err != nil {
		a.t.Fatalf("%v in %s", err, text)
	}
	a.ask(http.MethodDelete, "/admin/v1/faults/"+id, "")
	for _, f := range all.GetFaults() {
		if f.GetId() == id {
			return f.GetHits()
		}
	}
	return 0
}

const legacyMeta = `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"poison","version":"1"}`

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}},"io.modelcontextprotocol/clientInfo":{"name":"poison","version":"1"}}`

// batters sends that many requests of all kinds as acme, eight at a time, and counts the answers by
// status. Failures are only acme's problem.
func (a *arena) batters(requests int, wait time.Duration) map[int]int {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), 50*time.Second)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	defer client.CloseIdleConnections()
	next := make(chan int)
	told := map[int]int{}
	var mu sync.Mutex // guards told
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			session := ""
			for n := range next {
				limited, cancel := context.WithTimeout(ctx, wait)
				status, id := a.batter(limited, client, session, n)
				cancel()
				if id != "" {
					session = id
				}
				mu.Lock()
				told[status]++
				mu.Unlock()
			}
		})
	}
	for n := range requests {
		next <- n
	}
	close(next)
	all.Wait()
	return told
}

// batter sends one request and returns the status, and the id of a session that the request has
// opened. The number of the request determines its kind.
func (a *arena) batter(ctx context.Context, client *http.Client, session string, n int) (status int,
	id string) {
	body, modern, method := "", false, ""
	switch n / 8 % 8 {
	case 0:
		body, session = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{`+legacyMeta+`}}`, ""
	case 1:
		body = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	case 2:
		body = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	case 3:
		body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"files__echo","arguments":{"message":"x"}}}`
	case 4:
		body = `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://watched"}}`
	case 5:
		body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__slow_compute","arguments":{"seconds":1},"task":{"ttl":60000}}}`
	case 6: // held for its client, one after the other: a few are enough
		if method, modern = "tools/list", true; n < 64 {
			method = "tools/call"
			body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"old__ask_elicitation","arguments":{"message":"who?"},` + modernMeta + `}}`
			break
		}
		body = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`
	case 7:
		method, modern = "tools/list", true
		body = fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{%s}}`,
			strings.Replace(modernMeta, "form", fmt.Sprintf("form%d", n), 1))
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url(acme),
		bytes.NewReader([]byte(body)))
	if err != nil {
		panic(err) // the URL is the test's own
	}
	r.Header.Set("Authorization", "Bearer "+key(acme))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" && !modern {
		r.Header.Set("Mcp-Session-Id", session)
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	if modern {
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", method)
		if method == "tools/call" {
			r.Header.Set("Mcp-Name", "old__ask_elicitation")
		}
	}
	answer, err := client.Do(r)
	if err != nil {
		return 0, ""
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body) // a stream that is cut off is acme's problem
	return answer.StatusCode, answer.Header.Get("Mcp-Session-Id")
}
