package chaos

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/load"
)

// opening is how many sessions are opened at once while a component crashes that new sessions need.
const opening = 8

// connects opens sessions concurrently and returns the errors of those that failed.
func (a *arena) connects() (errs []error) {
	a.t.Helper()
	var mu sync.Mutex // guards errs
	var all sync.WaitGroup
	for range opening {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(a.t.Context(), patience)
			defer cancel()
			s, err := load.Connect(ctx, load.SessionOptions{URL: a.url(acme), Key: key(acme)})
			if err == nil {
				err = s.Close(ctx)
			}
			if err != nil {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return errs
}

// refuses returns a trigger that opens sessions concurrently. The messages of exactly the given
// number of sessions crash the component, and those sessions fail. The others wait in its mailbox.
func refuses(times int) func(a *arena, s *mcp.ClientSession) {
	return func(a *arena, _ *mcp.ClientSession) {
		if errs := a.connects(); len(errs) != times {
			a.t.Errorf("%d of %d sessions were refused, want the %d whose messages crashed it: %v",
				len(errs), opening, times, errs)
		}
		if errs := a.connects(); len(errs) != 0 {
			a.t.Errorf("later: %v", errs)
		}
	}
}

// S4-120, S4-99: the protocol version manager. The requirements allow new sessions to fail until it
// is back; here they wait.
func TestChaosProtocolVersionCrash(t *testing.T) {
	t.Parallel()
	open(t, "").survives(crash{path: "mcpd/core/protocol_version", trigger: refuses(1)})
}

// The session manager. Existing sessions continue without it, and new sessions wait for it.
func TestChaosSessionManagerCrash(t *testing.T) {
	t.Parallel()
	const opens = "*otp.Call[mcpd/actors/session.OpenRequest,*mcpd/actors/session.Handle]"
	open(t, "").survives(crash{path: "mcpd/core/session_manager", kind: opens, trigger: refuses(1)})
}

// F15: the process manager, which owns the child processes. No child process is affected. The
// program whose start was the crashing message still starts, because its connection tries again.
// The restarted manager still knows the connection of each process: a process is ended if its
// connection crashes later.
func TestChaosProcessManagerCrash(t *testing.T) {
	t.Parallel()
	a := open(t, "")
	a.warm()
	before := children(a.PID())
	bystander := a.load(globex, "files__echo")
	bystander.flows(globex, 20)
	was := a.rows()
	a.panics("mcpd/core/process_manager", "", 1)
	// its capabilities give it a connection of its own
	other, end := a.client(acme, &mcp.ClientOptions{})
	defer end()
	a.must(other, "files__echo", map[string]any{"message": "x"})
	a.struck()
	bystander.flows(globex, 20)
	a.clean(globex, bystander.end())
	after := a.rows()
	if after["mcpd/core/process_manager"].GetIncarnation() != 2 {
		t.Errorf("row: %v", after["mcpd/core/process_manager"])
	}
	for path, n := range after.restarted(was) {
		if !strings.HasPrefix(path, "mcpd/tenants/acme/client_sup/files/") &&
			path != "mcpd/core/process_manager" || n != 1 {
			t.Errorf("restarted: %s, %d times", path, n)
		}
	}
	now := children(a.PID())
	if len(now) != len(before)+1 {
		t.Errorf("child processes: %v after %v, want one more", now, before)
	}
	for _, pid := range before {
		if stat(pid) == nil {
			t.Errorf("child %d is gone", pid)
		}
	}

	row := after.connection(acme, "files")
	a.panics(row.GetPath(), "client.inbound", 1)
	s, leave := a.client(acme, nil)
	defer leave()
	// the answer is the message that crashes it
	_, _ = a.call(s, "files__echo", map[string]any{"message": "x"})
	a.struck()
	gone(a, []int{int(row.GetPid())})
	a.must(s, "files__echo", map[string]any{"message": "x"})
	// A process that has ended remains a child until it is waited for.
	a.eventually("as many child processes as before", func() bool {
		return len(children(a.PID())) == len(now)
	})
}

// F15: the same for a message of each tenant, each time before the manager has started the
// requested program. No call fails, no program is affected, no tenant is paused for its first
// crash, and the end of a program is still noticed afterwards.
func TestChaosProcessManagerCrashesForEachTenant(t *testing.T) {
	t.Parallel()
	const manager = "mcpd/core/process_manager"
	a := open(t, "")
	a.warm()
	was, before := a.rows(), children(a.PID())
	hit, bystander := a.load(acme, "files__echo"), a.load(globex, "files__echo")
	hit.flows(acme, 20)
	bystander.flows(globex, 20)
	for _, tenant := range []string{acme, globex} {
		a.panics(manager, "", 1)
		// its capabilities give it a connection of its own
		other, end := a.client(tenant, &mcp.ClientOptions{})
		defer end()
		a.must(other, "files__echo", map[string]any{"message": "x"})
		a.struck()
	}
	hit.flows(acme, 20)
	bystander.flows(globex, 20)
	a.clean(acme, hit.end())
	a.clean(globex, bystander.end())
	after := a.rows()
	if n := after.restarted(was)[manager]; n != 2 {
		t.Errorf("%d restarts", n)
	}
	now := children(a.PID())
	for _, pid := range before {
		if !slices.Contains(now, pid) {
			t.Errorf("child %d is gone", pid)
		}
	}
	victim := after.connection(globex, "files")
	kill(t, victim.GetPid())
	a.eventually("another program", func() bool {
		n := a.rows().connection(globex, "files")
		return n.GetState() == "ready" && n.GetPid() != victim.GetPid()
	})
}
