package supervisor

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"mcpd/actors/held"
	"mcpd/actors/task"
	"mcpd/gateway/config"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

//go:generate go test -run ^TestTreeIsDocumented$ . -update

var update = flag.Bool("update", false, "rewrite docs/tree.gen.md")

// line is one row of the tree, as the documentation shows it.
type line struct {
	path, id string
	depth    int
	child    otp.Child
	spec     *otp.Spec // spec of a supervisor whose children are known in advance
}

// why says the purpose of every row.
var why = map[string]string{
	"mcpd": "the host; it pauses a child that ends too often, and never " +
		"gives up",
	"mcpd/admin": "first to start and last to stop, so that health, tree and " +
		"metrics are always visible",
	"mcpd/observability": "not needed by requests: past its budget it stays down, and " +
		"readiness reports degraded",
	"mcpd/observability/event_log": "turns events into log lines",
	"mcpd/core":                    "what all tenants need",
	"mcpd/core/storage": "writes persistent state in batches; absent if nothing is " +
		"persistent",
	"mcpd/core/memory": "measures the memory in use; with little left, new sessions are " +
		"refused, then new calls",
	"mcpd/core/protocol_version": "the revision that each session speaks, and the counts of agreed " +
		"revisions",
	"mcpd/core/capabilities": "the capabilities that servers declared and that the host knows, and " +
		"the subscribers to their changes",
	"mcpd/core/session_manager": "the sessions, who may use each, and which have been idle for too " +
		"long",
	"mcpd/core/process_manager": "owns every child process; its crash affects none of them",
	"mcpd/core/tenant_manager": "restarts a tenant that ended by itself, after a pause, and " +
		"performs the operations on tenants",
	"mcpd/core/configuration": "applies the configuration file on request, each time as a whole",
	"mcpd/tenants": "a row for every configured tenant, each a failure " +
		"domain",
	"mcpd/tenants/T": "one tenant; when its budget runs out it ends " +
		"alone, and the tenant manager starts it again after a pause",
	"mcpd/tenants/T/request_manager": "every request in flight, its deadline, and its one " +
		"outcome",
	"mcpd/tenants/T/notification_dispatcher": "the subscribers to notifications of servers, and the " +
		"undelivered notifications",
	"mcpd/tenants/T/catalog": "the tenant's servers as one list, and the state of each",
	"mcpd/tenants/T/client_sup": "the tenant's servers, each under a supervisor of " +
		"its own",
	"mcpd/tenants/T/client_sup/S": "one server; the rows below it come and go",
	"mcpd/tenants/T/client_sup/S/C": "callers that share a connection; past its budget the row ends " +
		"quietly, and the catalogue starts it again after a pause",
	"mcpd/tenants/T/client_sup/S/C/connection": "a connection: a child process, a URL, or an " +
		"instance of a built-in server",
	"mcpd/tenants/T/held_sup": "held calls: a legacy server asks something, and the client " +
		"has to come back with the answer",
	"mcpd/tenants/T/held_sup/X": "one held call, under a budget of its own",
	"mcpd/tenants/T/held_sup/X/held": "keeps the server's questions open and knows which answers " +
		"are still valid",
	"mcpd/tenants/T/task_sup": "tasks that the host keeps, because their servers have no " +
		"tasks of the client's kind, or none that outlives the session",
	"mcpd/tenants/T/task_sup/K": "one task, under a budget of its own",
	"mcpd/tenants/T/task_sup/K/task": "follows the server's task, passes its questions to the " +
		"client, and stays until its ttl is over",
	"mcpd/tenants/T/task_manager": "restores the tasks of an earlier host, before a session can ask " +
		"for one",
	"mcpd/tenants/T/server_sup": "the tenant's sessions",
	"mcpd/tenants/T/server_sup/N": "one client; if its actor ended, it is attached again at once, " +
		"after a pause, or with the next message of the client",
	"mcpd/listeners": "last to start, so first to stop: clients finish their work while " +
		"everything else still runs",
	"mcpd/listeners/mcp": "accepts MCP over HTTP; when it stops, requests have time to finish",
}

// Goroutines that are stuck in a tenant count only against the tenant's own limit
// (otp.MaxIsolated).
func TestTenantsAreFailureDomains(t *testing.T) {
	for _, l := range rows(t) {
		if want := l.path == "mcpd/tenants/T"; l.child.FailureDomain != want {
			t.Errorf("%s: %t", l.path, !want)
		}
	}
}

// docs/tree.gen.md shows the tree that tree.go builds. It has the purpose of every row.
func TestTreeIsDocumented(t *testing.T) {
	const file = "../docs/tree.gen.md"
	lines := rows(t)
	for _, l := range lines {
		if why[l.path] == "" {
			t.Errorf("%s: nothing says what it is for", l.path)
		}
	}
	if len(lines) != len(why) {
		t.Errorf("%d rows, but something is said of %d", len(lines), len(why))
	}
	got := document(lines)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || got != string(want) {
		t.Errorf("%s is not current (%v): run go generate ./supervisor", file, err)
	}
}

// The tree is valid, and its tiers are in the order that starting and stopping need.
func TestTreeIsValid(t *testing.T) {
	spec := literal(t).tree()
	if err := otp.Validate(spec); err != nil {
		t.Error(err)
	}
	var order []string
	for _, c := range spec.Children {
		order = append(order, c.ID)
	}
	if want := []string{"admin", "observability", "core", "tenants",
		"listeners"}; !slices.Equal(order, want) {
		t.Errorf("start order is %v, want %v", order, want)
	}
}

// Every actor that handles the requests of a tenant or a session has a mailbox for as many as the
// limits allow.
func TestMailboxesFollowTheLimits(t *testing.T) {
	for _, pending := range []int{1, 1000, 10_000} {
		h := literal(t)
		tn := h.now().config.Tenants[0].Tenant
		tn.Limits.MaxPending, tn.Limits.MaxSessionPending = pending, min(pending, 2560)
		spec, _ := h.tenant(&tn).Start.Spec()
		if err := otp.Validate(spec); err != nil {
			t.Errorf("%d: %v", pending, err)
		}
		connection, _ := h.connection(&tn, tn.Servers[0], tenant.Key{}, protocol.ClientCapabilities{},
			protocol.Implementation{}, nil, otp.Ref{}).Start.Spec()
		rows := connection.Children
		for _, c := range spec.Children {
			switch c.ID {
			case "request_manager", "catalog":
				rows = append(rows, c)
			case "server_sup":
				pool, _ := c.Start.Spec()
				if got, want := pool.Children[0].Mailbox, 2*tn.Limits.MaxSessionPending; got < want {
					t.Errorf("%d: a session's mailbox holds %d, want %d", pending, got, want)
				}
			}
		}
		if len(rows) != 3 {
			t.Fatalf("%d rows", len(rows))
		}
		for _, c := range rows {
			if c.Mailbox < 2*pending || c.Mailbox < otp.DefaultMailbox {
				t.Errorf("%d: the mailbox of %s holds %d", pending, c.ID, c.Mailbox)
			}
		}
	}
}

// literal returns a host that is never started, with one tenant T and one server S.
func literal(t *testing.T) *host {
	t.Helper()
	c, err := config.Load([]byte("tenants: {t: {servers: {s: {builtin: demo}}}}"), config.Options{
		Builtins: Builtins,
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Tenants[0].Name = "T"
	h := newHost(c, Options{Logger: slog.New(slog.DiscardHandler), State: t.TempDir()})
	t.Cleanup(func() {
		if err := h.end(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

// rows returns the tree of such a host. An example stands for the entries of each pool: the server
// S, its connection C, the held call X, the task K, the session N.
func rows(t *testing.T) []line {
	t.Helper()
	h := literal(t)
	tn := h.now().config.Tenants[0].Tenant
	connection := h.connection(&tn, tn.Servers[0], tenant.Key{}, protocol.ClientCapabilities{},
		protocol.Implementation{}, nil, otp.Ref{})
	connection.ID = "C"
	var list []line
	var walk func(path string, depth int, c otp.Child, spec *otp.Spec)
	walk = func(path string, depth int, c otp.Child, spec *otp.Spec) {
		list = append(list, line{path, c.ID, depth, c, spec})
		for _, child := range spec.Children {
			switch child.Label {
			case "upstream":
				child.ID = "S"
			case "session":
				child.ID = "N"
			}
			switch c.ID {
			case "held_sup":
				child.ID = "X"
			case "task_sup":
				child.ID = "K"
			}
			below, ok := child.Start.Spec()
			if !ok && child.ID == "S" {
				below = upstream(tn.Servers[0])
				below.Children = []otp.Child{connection}
			}
			switch child.ID {
			case "X":
				below = held.Spec(h.intensity(5, 30*second), nil, held.Args{})
			case "K":
				below = task.Spec(h.intensity(5, 30*second), nil, task.Args{})
			}
			walk(path+"/"+child.ID, depth+1, child, &below)
		}
	}
	top := h.tree()
	walk(root, 0, otp.Child{ID: root, Start: otp.Supervisor(top)}, &top)
	return list
}

func document(lines []line) string {
	var b strings.Builder
	b.WriteString("<!-- Written by go generate ./supervisor. Do not edit. -->\n\n# The supervision " +
		"tree\n\n" +
		"The whole host as `supervisor/tree.go` builds it. T is a tenant, S a server, C the callers " +
		"that share a connection to it, X a held call, K a task, N a session. Rows\n" +
		"start from the top, each when the one before it is ready, and stop from the bottom, each " +
		"within its shutdown time. `mcpd tree` shows the live tree.\n\n```\n")
	for i, l := range lines {
		fmt.Fprintf(&b, "%s%s\n", branches(lines, i), l.id)
	}
	b.WriteString("```\n\n" +
		"Restart budget: the number of restarts allowed within the time. One more ends the supervisor, " +
		"and its own supervisor decides what follows. With \"each\",\n" +
		"every child has that budget. A child that exceeds it is paused, for " + brief(backoff.First) +
		" at first and " + brief(backoff.Max) + " at most, while the others continue.\n\n" +
		"| row | type | strategy | restart | budget | shutdown | purpose " +
		"|\n|---|---|---|---|---|---|---|\n")
	for _, l := range lines {
		strategy, budget := "", ""
		if l.child.Start.Type() == otp.SupervisorType {
			strategy, budget = l.spec.Strategy.String(), fmt.Sprintf("%d in %s", l.spec.Intensity.Restarts,
				brief(l.spec.Intensity.Within))
			if l.spec.Backoff != (otp.Backoff{}) {
				budget += " each"
			}
		}
		restart := l.child.Restart.String()
		if l.depth == 0 {
			restart = ""
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n",
			strings.TrimPrefix(l.path, root+"/"), l.child.Start.Type(), strategy, restart, budget,
			shutdown(l), why[l.path])
	}
	b.WriteString("\nThe budget of a server and of each connection to it is configurable " +
		"(`intensity`); the table shows the default.\n")
	return b.String()
}

// branches draws the lines before a row.
func branches(lines []line, i int) string {
	var lead string
	for depth := 1; depth <= lines[i].depth; depth++ {
		last := true // no later row is on the line at this depth
		for _, l := range lines[i+1:] {
			if l.depth <= depth {
				last = l.depth < depth
				break
			}
		}
		switch {
		case depth == lines[i].depth && last:
			lead += "└─ "
		case depth == lines[i].depth:
			lead += "├─ "
		case last:
			lead += "   "
		default:
			lead += "│  "
		}
	}
	return lead
}

// shutdown returns how long a row may take to stop. The root has as long as its children need.
func shutdown(l line) string {
	switch s := l.child.Shutdown; {
	case l.depth == 0:
		return ""
	case s == otp.Infinity || s == 0 && l.child.Start.Type() == otp.SupervisorType:
		return "infinity"
	case s == 0:
		return brief(otp.DefaultShutdown)
	default:
		return brief(s)
	}
}

// brief formats a time in whole seconds.
func brief(s otp.Shutdown) string { return fmt.Sprintf("%d s", int(s.Seconds())) }
