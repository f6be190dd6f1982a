package chaos

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// inARow is the number of consecutive crashes. It is one less than the number after which carried
// state is dropped as suspect, and two less than a tenant's budget.
const inARow = 3

// crash is one component that is made to panic under load: once, or several times, each time as
// soon as it is back.
type crash struct {
	path  string // its row
	kind  string // the message that it panics on; empty is any
	times int    // 0 is once
	// failed is how many calls of the load fail. Only the calls whose messages cause the panics may
	// fail.
	failed uint64
	// trigger makes the component receive such messages if the load does not. It gets a session of
	// acme's.
	trigger func(a *arena, s *mcp.ClientSession)
	// spawns is how many programs the trigger starts that keep running.
	spawns int
}

// survives checks the requirements S4-99 to S4-105 for a component, and that the losses that they
// allow do not happen. The component is back as its next incarnation; its siblings and the child
// processes are not affected; exchanges in flight get their one outcome; and only the message that
// crashed the component fails, at once. Afterwards nothing is leaked (I1 to I3, I6, I7, I9).
func (a *arena) survives(c crash) {
	a.t.Helper()
	a.warm()
	atRest := a.rest()

	times := max(1, c.times)
	watch := a.watch()
	listed := a.tools(watch.session)
	hit, bystander := a.load(acme, "files__echo"), a.load(globex, "files__echo")
	hit.flows(acme, 20)
	bystander.flows(globex, 20)
	pending := a.work()
	before := a.rows()

	a.panics(c.path, c.kind, times)
	if c.trigger != nil {
		c.trigger(a, watch.session)
	}
	a.struck()
	hit.flows(acme, 50)
	bystander.flows(globex, 20)

	a.failed(acme, hit.end(), c.failed)
	a.clean(globex, bystander.end())
	pending.finishes()
	watch.hears()
	if now := a.tools(watch.session); !slices.Equal(now, listed) {
		a.t.Errorf("listed: %v, want %v as before", now, listed)
	}
	after := a.rows()
	if got := after.restarted(before); len(got) != 1 || got[c.path] != uint32(times) {
		a.t.Errorf("restarted: %v, want %s %d times and nothing else", got, c.path, times)
	}
	if was, is := before[c.path].GetIncarnation(), after[c.path].GetIncarnation(); is != was+
		uint32(times) {
		a.t.Errorf("incarnation: %d after %d and %d crashes", is, was, times)
	}
	a.story(c.path, slices.Repeat([]string{"fault_hit", "child_crashed", "child_restarted"}, times)...)
	if crashed := a.event(c.path, "child_crashed"); crashed["fault"] == nil ||
		crashed["stack"] == nil || crashed["incident"] == nil {
		a.t.Errorf("crash report: %v, want the fault, the stack and the incident", crashed)
	}
	now := children(a.PID())
	kept := slices.DeleteFunc(slices.Clone(now), func(pid int) bool {
		return !slices.Contains(atRest.children, pid)
	})
	if !slices.Equal(kept, atRest.children) || len(now) != len(kept)+c.spawns {
		a.t.Errorf("child processes: %v, want %v as before and %d more", now, atRest.children, c.spawns)
	}
	watch.end()
	if c.spawns == 0 {
		a.settles(atRest)
	}
}

// warm uses everything once, so that caches and idle resources exist.
func (a *arena) warm() {
	a.t.Helper()
	for _, tenant := range []string{acme, globex} {
		a.clean(tenant, a.burst(tenant, "files__echo", 20*loadWorkers).await())
	}
	a.work().finishes()
}

// S4-102: the capability registry. Catalogues tell it when a server declares something for the
// first time.
func TestChaosCapabilitiesCrash(t *testing.T) {
	t.Parallel()
	open(t, "").survives(crash{
		path:   "mcpd/core/capabilities",
		spawns: 1,
		trigger: func(a *arena, _ *mcp.ClientSession) {
			// its capabilities give it a connection of its own
			s, end := a.client(acme, &mcp.ClientOptions{})
			a.must(s, "files__echo", map[string]any{"message": "x"})
			end()
		},
	})
}

// The catalogue remembers its servers across a crash, and why a server was given up: its tools are
// still listed, and calls to it fail at once with the cause.
func TestCatalogCrashForgetsNothing(t *testing.T) {
	t.Parallel()
	flag := filepath.Join(t.TempDir(), "broken")
	a := open(t, breakable(t, flag))
	session, _ := a.client(acme, nil)
	a.must(session, "files__echo", map[string]any{"message": "x"})
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	kill(t, a.rows().connection(acme, "files").GetPid())
	given := func() bool {
		return a.rows()["mcpd/tenants/acme/client_sup/files"].GetState() == "crash_loop"
	}
	a.eventually("in a crash loop", given)

	a.panics("mcpd/tenants/acme/catalog", "", 1)
	_, _ = session.ListTools(t.Context(), nil) // crashes it, unless a timer does
	a.struck()
	l, err := session.ListTools(t.Context(), nil)
	if err != nil || !slices.ContainsFunc(l.Tools, func(t *mcp.Tool) bool {
		return t.Name == "files__echo"
	}) {
		t.Errorf("the list: %v, %v", l, err)
	}
	_, err = a.call(session, "files__echo", map[string]any{"message": "x"})
	refused(t, err, "the disk is full")
}

// The catalogue. Lists are answered from its carried state; requests during its absence wait in its
// mailbox.
func TestChaosCatalogCrash(t *testing.T) {
	t.Parallel()
	for _, times := range []int{1, inARow} {
		t.Run(strconv.Itoa(times), func(t *testing.T) {
			t.Parallel()
			open(t, "").survives(crash{
				path: "mcpd/tenants/acme/catalog",
				kind: "*otp.Call[mcpd/actors/catalog.LookRequest,*mcpd/actors/catalog.View]", times: times,
				trigger: func(a *arena, s *mcp.ClientSession) {
					for range times {
						if _, err := s.ListTools(a.t.Context(), nil); err == nil ||
							!strings.Contains(err.Error(), "internal error") {
							a.t.Errorf("a list whose message crashed it: got %v", err)
						}
					}
					if l, err := s.ListTools(a.t.Context(), nil); err != nil || len(l.Tools) == 0 {
						a.t.Errorf("the next list: %v, %v", l, err)
					}
				},
			})
		})
	}
}
