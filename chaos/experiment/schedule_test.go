package experiment

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpd/chaos/faults"
)

// rowsOf returns the part of the tree of a host with the given tenants that experiments name.
func rowsOf(tenants ...string) faults.Tree {
	tree := faults.Tree{
		{Path: "mcpd"}, {Path: "mcpd/core"}, {Path: "mcpd/core/storage"},
		{Path: "mcpd/core/protocol_version"}, {Path: "mcpd/core/session_manager"}, {Path: "mcpd/tenants"},
	}
	for _, t := range tenants {
		for _, row := range []string{"", "/request_manager", "/notification_dispatcher", "/catalog",
			"/client_sup", "/client_sup/demo", "/client_sup/demo/1", "/client_sup/demo/1/connection",
			"/client_sup/files", "/server_sup", "/server_sup/1", "/server_sup/2", "/server_sup/3"} {
			tree = append(tree, faults.Row{Path: faults.TenantPath(t) + row})
		}
	}
	return tree
}

func parsed(t *testing.T, faultLines string) Experiment {
	t.Helper()
	e, err := Parse("test.yaml",
		[]byte("name: x\ntitle: X\nhypothesis: It holds.\nfaults:\n"+faultLines), faults.Kinds)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func schedule(t *testing.T, e Experiment, tree faults.Tree, seed uint64) []Strike {
	t.Helper()
	roles, err := e.AssignRoles(tree, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	strikes, err := e.Schedule(tree, roles, seed)
	if err != nil {
		t.Fatal(err)
	}
	return strikes
}

const drawing = `
  - {do: actor.panic, at: {row: server_sup/*}, after: 1s, every: 3s, times: 5}
  - {do: child.kill, at: {tenant: bystander}, every: 7s}
`

// A schedule depends only on the experiment, the rows and the seed. It depends neither on the order
// of rows in a pool, nor on the other lines of the experiment.
func TestScheduleIsAFunctionOfItsSeed(t *testing.T) {
	e, tree := parsed(t, drawing), rowsOf("acme", "globex", "initech")
	first := schedule(t, e, tree, 42)
	if len(first) != 5+9 {
		t.Fatalf("%d strikes", len(first))
	}
	if again := schedule(t, e, tree, 42); !reflect.DeepEqual(again, first) {
		t.Errorf("the second time\n%v\nwant\n%v", again, first)
	}
	turned := slices.Clone(tree)
	for i := range turned {
		if strings.Contains(turned[i].Path, "/server_sup/") {
			turned[i].Path = strings.NewReplacer("/1", "/3", "/3", "/1").Replace(turned[i].Path)
		}
	}
	if got := schedule(t, e, turned, 42); !reflect.DeepEqual(got, first) {
		t.Error("the order of sessions matters")
	}
	alone := schedule(t, parsed(t, strings.Split(drawing, "\n")[1]), tree, 42)
	var same []Strike
	for _, s := range first {
		if s.Fault == 0 {
			same = append(same, s)
		}
	}
	if !reflect.DeepEqual(alone, same) {
		t.Errorf("alone\n%v\nwant\n%v", alone, same)
	}
	if other := schedule(t, e, tree, 43); reflect.DeepEqual(other, first) {
		t.Error("another seed draws the same")
	}
}

// Every possible target is chosen at times, and nothing else is.
func TestDrawsReachEverything(t *testing.T) {
	tree := rowsOf("acme", "globex", "initech")
	rows, servers := map[string]bool{}, map[string]bool{}
	for seed := range uint64(50) {
		for _, s := range schedule(t, parsed(t, drawing), tree, seed) {
			if s.Fault == 0 {
				rows[s.Row] = true
			} else {
				servers[s.Tenant+" "+s.Server] = true
			}
		}
	}
	if got, want := slices.Sorted(maps.Keys(rows)), []string{"mcpd/tenants/acme/server_sup/1",
		"mcpd/tenants/acme/server_sup/2", "mcpd/tenants/acme/server_sup/3"}; !slices.Equal(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
	if got, want := slices.Sorted(maps.Keys(servers)), []string{"globex demo", "globex files",
		"initech demo", "initech files"}; !slices.Equal(got, want) {
		t.Errorf("servers %v, want %v", got, want)
	}
}

// linked returns the tree with another link of a server of acme.
func linked(tree faults.Tree, server, link string) faults.Tree {
	tree = slices.Clone(tree)
	for i := range tree {
		if tree[i].Path == faults.ServerPath("acme", server) {
			tree[i].Link = link
		}
	}
	return tree
}

const killing = "\n  - {do: child.kill, every: 1s}"

// Only a server that is a process can have its process killed.
func TestProcessesAreDrawnOfPrograms(t *testing.T) {
	tree := linked(rowsOf("acme"), "files", "builtin")
	for seed := range uint64(50) {
		for _, s := range schedule(t, parsed(t, killing), tree, seed) {
			if s.Server != "demo" {
				t.Fatalf("the process of %s is killed", s.Server)
			}
		}
	}
	_, err := parsed(t, "\n  - {do: child.kill, at: {server: files}}").Schedule(tree,
		Roles{Target: "acme"}, 1)
	if err == nil || !strings.Contains(err.Error(),
		"there is no server files of acme that is a program") {
		t.Errorf("%v", err)
	}
}

// Faults that belong together hit the same server: the one that the load calls.
func TestTheServerThatIsCalledIsHit(t *testing.T) {
	const both = "\n  - {do: child.stop, at: {server: '{load}'}, every: 2s}\n  - {do: child.kill, " +
		"at: {server: '{load}'}, after: 1s, every: 2s}"
	e := parsed(t, both)
	for _, c := range []struct{ tool, want string }{{"demo__echo", "demo"},
		{"files__read__all", "files"}} {
		e.Load.Tool = c.tool
		for seed := range uint64(20) {
			for _, s := range schedule(t, e, rowsOf("acme"), seed) {
				if s.Server != c.want || s.AnyServer {
					t.Fatalf("%s is called, and %+v", c.tool, s)
				}
			}
		}
	}
	e.Load.Tool = "other__x"
	if _, err := e.Schedule(rowsOf("acme"), Roles{Target: "acme"}, 1); err == nil ||
		!strings.Contains(err.Error(), "there is no server other of acme now") {
		t.Errorf("%v", err)
	}
}

// A program that nobody uses has no process. Where any server will do, a running one is hit.
func TestAServerThatRunsIsHit(t *testing.T) {
	idle := rowsOf("acme")
	run := append(slices.Clone(idle), faults.Row{
		Path: faults.ServerPath("acme", "files") + "/1/connection", PID: 4711,
	})
	for seed := range uint64(50) {
		for _, s := range schedule(t, parsed(t, killing), idle, seed) {
			if got := s.Running(idle); !reflect.DeepEqual(got, s) {
				t.Fatalf("nothing runs: %v, want %v", got, s)
			}
			if got := s.Running(run).Server; got != "files" {
				t.Fatalf("files runs, and %s is hit", got)
			}
		}
	}
	two := slices.Clone(run)
	for _, row := range []string{"", "/1/connection"} {
		two = append(two, faults.Row{Path: faults.ServerPath("acme", "search") + row, PID: len(row)})
	}
	turned := slices.Clone(two)
	slices.Reverse(turned)
	hit := map[string]bool{}
	for seed := range uint64(50) {
		s := Strike{Tenant: "acme", Server: "demo", AnyServer: true, Seed: seed}
		got := s.Running(two).Server
		if again := s.Running(turned).Server; again != got {
			t.Errorf("seed %d: %s is hit, and with rows in another order %s", seed, got, again)
		}
		hit[got] = true
		s.Server = "search"
		if got := s.Running(two).Server; got != s.Server {
			t.Errorf("seed %d: %s runs, and %s is hit", seed, s.Server, got)
		}
	}
	if s := schedule(t, parsed(t, "\n  - {do: server.crash}"), idle, 1)[0]; s.AnyServer {
		t.Errorf("no process is needed of %v", s)
	}
	if !maps.Equal(hit, map[string]bool{"files": true, "search": true}) {
		t.Errorf("hit are %v", hit)
	}
	if plan := parsed(t, killing).Plan(Roles{Target: "acme"}, schedule(t, parsed(t, killing), idle, 1),
		1); !strings.Contains(plan, " of acme, or another that runs") {
		t.Errorf("%s", plan)
	}
	named := schedule(t, parsed(t, "\n  - {do: child.kill, at: {server: demo}}"), idle, 1)[0]
	if got := named.Running(run).Server; got != "demo" {
		t.Errorf("demo is named, and %s is hit", got)
	}
}

// Strikes are ordered by time. None begins after the phase or lasts longer than it. A shorter phase
// has a prefix of the strikes.
func TestStrikesFitThePhase(t *testing.T) {
	tree := rowsOf("acme", "globex")
	for _, c := range []struct {
		line  string
		phase time.Duration
		want  []Strike // At and For
	}{
		{"{do: child.kill}", 10 * time.Second, []Strike{{At: 0, For: 10 * time.Second}}},
		{"{do: child.kill, after: 4s, for: 2s}", 10 * time.Second, []Strike{
			{At: 4 * time.Second, For: 2 * time.Second},
		}},
		{"{do: child.kill, after: 1s, every: 4s}", 10 * time.Second, []Strike{
			{At: time.Second, For: 4 * time.Second}, {At: 5 * time.Second, For: 4 * time.Second},
			{At: 9 * time.Second, For: time.Second},
		}},
		{"{do: child.kill, after: 1s, every: 4s, times: 2}", 10 * time.Second, []Strike{
			{At: time.Second, For: 4 * time.Second}, {At: 5 * time.Second, For: 4 * time.Second},
		}},
		{"{do: child.kill, every: 5s, for: 7s}", 10 * time.Second, []Strike{
			{At: 0, For: 7 * time.Second}, {At: 5 * time.Second, For: 5 * time.Second},
		}},
		{"{do: child.kill, every: 5s}", 5 * time.Second, []Strike{{At: 0, For: 5 * time.Second}}},
	} {
		e := parsed(t, "  - "+c.line)
		long := schedule(t, e, tree, 1)
		e.Phases.Fault = c.phase
		got := schedule(t, e, tree, 1)
		var times []Strike
		for i, s := range got {
			times = append(times, Strike{At: s.At, For: s.For})
			if s.Server != long[i].Server || s.Seed != long[i].Seed {
				t.Errorf("%s: strike %d is another one in a longer phase", c.line, i)
			}
		}
		if !reflect.DeepEqual(times, c.want) {
			t.Errorf("%s: %v, want %v", c.line, times, c.want)
		}
	}
}

func TestStrikesAreInTheOrderOfTime(t *testing.T) {
	strikes := schedule(t, parsed(t, drawing), rowsOf("acme", "globex"), 1)
	if !slices.IsSortedFunc(strikes, func(a, b Strike) int { return int(a.At - b.At) }) {
		t.Errorf("%v", strikes)
	}
}

// An error names a target that does not exist.
func TestScheduleNamesWhatIsMissing(t *testing.T) {
	tree := rowsOf("acme", "globex")
	for line, want := range map[string]string{
		"{do: child.kill, at: {server: fils}}":  "there is no server fils of acme now",
		"{do: child.kill, at: {tenant: globx}}": `there is no tenant "globx": did you mean "globex"?`,
		"{do: actor.panic, at: {row: connection}}": "there is no row " +
			"mcpd/tenants/acme/connection now",
		"{do: actor.panic, at: {row: mcpd/core/nothing}}": "there is no row mcpd/core/nothing now",
		"{do: actor.panic, at: {row: 'mcpd/tenants/{target}/x'}}": "there is no row " +
			"mcpd/tenants/acme/x now",
	} {
		e := parsed(t, "  - "+line)
		if _, err := e.Schedule(tree, Roles{"acme", []string{"globex"}}, 1); err == nil ||
			!strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
	e := parsed(t, "  - {do: child.kill, at: {tenant: bystander}}")
	if _, err := e.Schedule(tree, Roles{Target: "acme"}, 1); err == nil {
		t.Error("a bystander is hit where there is none")
	}
}

// Before there is load a pool is empty, and a plan names the pattern from which the row will be
// chosen. A run refuses to strike at nothing.
func TestOutlineLeavesOpenWhichOfAPool(t *testing.T) {
	tree := slices.DeleteFunc(rowsOf("acme", "globex"), func(r faults.Row) bool {
		return strings.Contains(r.Path, "/server_sup/")
	})
	e, roles := parsed(t, "  - {do: actor.panic, at: {row: server_sup/*}}"), Roles{
		"acme", []string{"globex"},
	}
	const pattern = "mcpd/tenants/acme/server_sup/*"
	got, err := e.DraftSchedule(tree, roles, 1)
	if err != nil || len(got) != 1 || !got[0].RowUndecided || got[0].Row != pattern {
		t.Errorf("%+v, %v", got, err)
	}
	if plan := e.Plan(roles, got, 1); !strings.Contains(plan,
		"one of "+pattern+" that is there when the faults begin") {
		t.Errorf("%s", plan)
	}
	if _, err := e.Schedule(tree, roles, 1); err == nil ||
		!strings.HasSuffix(err.Error(), "actor.panic: there is no row "+pattern+" now") {
		t.Errorf("%v", err)
	}
	if got, err := parsed(t, "  - {do: actor.panic, at: {row: sever_sup/*}}").DraftSchedule(tree,
		roles,
		1); err == nil {
		t.Errorf("a pool that there is not: %+v", got)
	}
}

func TestCast(t *testing.T) {
	tree := rowsOf("acme", "globex", "initech", "umbrella")
	for _, c := range []struct {
		target     string
		bystanders []string
		want       Roles
		err        string
	}{
		{"", nil, Roles{"acme", []string{"globex", "initech"}}, ""},
		{"initech", nil, Roles{"initech", []string{"acme", "globex"}}, ""},
		{"", []string{"acme"}, Roles{"globex", []string{"acme"}}, ""},
		{"acme", []string{"umbrella"}, Roles{"acme", []string{"umbrella"}}, ""},
		{"acme", []string{"acme"}, Roles{}, "both"},
		{"acne", nil, Roles{}, `did you mean "acme"?`},
		{"acme", []string{"glob"}, Roles{}, `no tenant "glob"`},
		{"", []string{"acme", "globex", "initech", "umbrella"}, Roles{}, "no tenant is left"},
	} {
		got, err := parsed(t, "").AssignRoles(tree, c.target, c.bystanders)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q %v: %v, want %s", c.target, c.bystanders, err, c.err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q %v: %v, %v, want %v", c.target, c.bystanders, got, err, c.want)
		}
	}
	// A tenant that all faults name is the target, unless another was chosen.
	for _, c := range []struct{ faults, target, want string }{
		{"  - {do: child.kill, at: {tenant: initech}}\n  - {do: actor.panic, at: {tenant: initech, " +
			"row: catalog}}\n", "", "initech"},
		{"  - {do: child.kill, at: {tenant: initech}}\n", "globex", "globex"},
		{"  - {do: child.kill, at: {tenant: initech}}\n  - {do: child.kill}\n", "", "acme"},
		{"  - {do: child.kill, at: {tenant: initech}}\n  - {do: child.kill, at: {tenant: umbrella}}\n",
			"", "acme"},
	} {
		if got, err := parsed(t, c.faults).AssignRoles(tree, c.target, nil); err != nil ||
			got.Target != c.want {
			t.Errorf("%s: target %q, %v; want %s", c.faults, got.Target, err, c.want)
		}
	}
	if _, err := parsed(t, "").AssignRoles(faults.Tree{{Path: "mcpd"}}, "", nil); err == nil {
		t.Error("a host without tenants is cast")
	}
}

// A parameter may name the target, whichever tenant that is.
func TestParametersNameTheTarget(t *testing.T) {
	e, tree := parsed(
		t, `  - {do: actor.panic, at: {row: mcpd/core/session_manager}, with: {caused_by: "{target}"}}`,
	), rowsOf("acme", "globex")
	for _, target := range tree.Tenants() {
		roles, err := e.AssignRoles(tree, target, nil)
		if err != nil {
			t.Fatal(err)
		}
		strikes, err := e.Schedule(tree, roles, 1)
		if err != nil || len(strikes) != 1 || strikes[0].With.Text("caused_by") != target {
			t.Errorf("%s: %v, %v", target, strikes, err)
		}
	}
}
