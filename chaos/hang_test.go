package chaos

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/supervisor/otp"
)

// hangPatience bounds the wait until a hanging actor is isolated. The host waits for five seconds
// of available processor time, which take longer on a machine that runs other tests too.
const hangPatience = 50 * time.Second

// hangRate leaves the machine enough time to detect the hang.
const hangRate = 50

// paused is more than the number of calls that fail while a tenant is paused because its message
// hung a shared component.
const paused = 1 << 20

// hang is one component that is made to hang once, under load.
type hang struct {
	path func(a *arena) string // its row
	// failed is the largest number of calls of the load that may fail: the calls that the component is
	// handling, and the call on which it hangs.
	failed uint64
	// trigger makes the component receive a message if the load does not.
	trigger func(a *arena)
	// passes says that the row is removed, and is created under another name when it is needed.
	passes bool
}

// F05, I1 to I3, I6, I7: a hanging actor is reported, isolated and replaced. Its next incarnation
// serves the requests that wait in its mailbox. The requests that it was handling fail with an
// error. Nothing else is affected, and nothing is left when the stuck goroutine returns.
func TestChaosHungActorsAreReplaced(t *testing.T) {
	t.Parallel()
	row := func(path string) func(*arena) string { return func(*arena) string { return path } }
	opens := func(a *arena) {
		connections := &http.Transport{}
		defer connections.CloseIdleConnections()
		if session, err := a.dial(a.url(acme), key(acme), connections,
			&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}); err == nil {
			_ = session.Close()
		}
	}
	spawns := func(a *arena) {
		connections := &http.Transport{}
		defer connections.CloseIdleConnections()
		// its capabilities need a program of their own
		if session, err := a.dial(a.url(acme), key(acme), connections, nil); err == nil {
			_, _ = a.call(session, "files__echo", map[string]any{"message": "x"})
			_ = session.Close()
		}
	}
	for name, h := range map[string]hang{
		"request manager": {path: row("mcpd/tenants/acme/request_manager"), failed: 1},
		"dispatcher":      {path: row("mcpd/tenants/acme/notification_dispatcher"), trigger: opens},
		"catalogue":       {path: row("mcpd/tenants/acme/catalog"), trigger: opens, failed: 1},
		"session manager": {path: row("mcpd/core/session_manager"), trigger: opens, failed: paused},
		"process manager": {path: row("mcpd/core/process_manager"), trigger: spawns, failed: paused},
		"connection": {path: func(a *arena) string {
			return a.rows().connection(acme, "files").GetPath()
		}, failed: loadWorkers},
		"session": {path: sessionOf(acme), failed: loadWorkers, passes: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := open(t, "")
			a.timeout, a.rate = hangPatience, hangRate
			a.replaces(h)
		})
	}
}

// sessionOf finds a session of a tenant.
func sessionOf(tenant string) func(a *arena) string {
	return func(a *arena) string {
		for path, n := range a.rows() {
			if strings.HasPrefix(path, "mcpd/tenants/"+tenant+"/server_sup/") && n.GetType() == "worker" {
				return path
			}
		}
		a.t.Fatal("no session")
		return ""
	}
}

func (a *arena) replaces(h hang) {
	a.t.Helper()
	a.warm()
	atRest := a.rest()
	hit, bystander := a.load(acme, "files__echo"), a.load(globex, "files__echo")
	hit.flows(acme, 20)
	bystander.flows(globex, 20)
	before, path := a.rows(), h.path(a)

	armed := time.Now()
	fault := a.hangs(path)
	if h.trigger != nil {
		h.trigger(a)
	}
	a.within(hangPatience, "fenced off", func() bool { return a.rows()["mcpd"].GetHung() == 1 })
	hit.flows(acme, 50)
	bystander.flows(globex, 20)
	after := a.rows()
	a.ask(http.MethodDelete, "/admin/v1/faults/"+fault, "")
	a.eventually("back", func() bool { return a.rows()["mcpd"].GetHung() == 0 })
	hit.flows(acme, 50)

	a.clean(globex, bystander.end())
	if now := a.rows().connection(globex, "files").GetPid(); now != before.connection(globex,
		"files").GetPid() {
		a.t.Errorf("globex has another program: %d", now)
	}
	r := hit.end()
	if r.Counts.Failed > h.failed || r.Counts.OK != r.Counts.Sent-r.Counts.Failed ||
		r.Counts.Duplicate != 0 {
		a.t.Errorf("%+v, errors %v; want at most %d failed and the others answered once", r.Counts,
			r.Errors, h.failed)
	}
	want := map[string]uint32{path: 1}
	if h.passes {
		want = map[string]uint32{}
	}
	if got := after.restarted(before); fmt.Sprint(got) != fmt.Sprint(want) {
		a.t.Errorf("restarted: %v, want %v", got, want)
	}
	a.story(path, "actor_stuck", "child_crashed")
	if stuck := a.event(path, "actor_stuck"); stuck["stack"] == nil {
		a.t.Errorf("nobody says where it is stuck: %v", stuck)
	}
	crashed := a.event(path, "child_crashed")
	at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(crashed["ts"]))
	if took := at.Sub(armed); err != nil || took < otp.DefaultHardTimeout ||
		crashed["reason"] != otp.ErrStuck.Error() {
		a.t.Errorf("replaced after %s, %v: %v", took, err, crashed)
	} else {
		a.t.Logf("replaced %s after the fault was armed; %d of %d calls failed: %v", took,
			r.Counts.Failed, r.Counts.Sent, r.Errors)
	}
	if h.failed < paused {
		a.settles(atRest)
		return
	}
	var now steady
	defer func() {
		if a.t.Failed() {
			a.t.Logf("before: %v\nnow:    %v", atRest, now)
		}
	}()
	// the tenant has started again, with what it needs now
	a.eventually("holding no more than before", func() bool {
		now = a.middle()
		// the end of the trigger's session may have been refused
		return now.sessions <= 1 && now.inFlight == 0 &&
			now.goroutines <= atRest.goroutines && now.files <= atRest.files &&
			len(now.children) <= len(atRest.children)
	})
}

// hangs arms the fault point so that the next message at a path makes its actor hang until the
// fault is disarmed.
func (a *arena) hangs(path string) (id string) {
	a.t.Helper()
	var armed struct{ ID string }
	text := a.ask(http.MethodPost, "/admin/v1/faults",
		fmt.Sprintf(`{"action":"hang","path":%q,"count":1,"lease":"60s"}`, path))
	if err := json.Unmarshal([]byte(text), &armed); err != nil || armed.ID == "" {
		a.t.Fatalf("armed: %s, %v", text, err)
	}
	return armed.ID
}
