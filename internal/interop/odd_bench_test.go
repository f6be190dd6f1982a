package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// oddBench is a host with all odd servers, and what the clients saw.
type oddBench struct {
	t       *testing.T
	servers []oddServer
	mcp     string // base URL of the host
	web     string // base URL of the servers over HTTP
	self    string // path of this binary
}

func newOddBench(t *testing.T) *oddBench {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := &oddBench{t: t, servers: oddServers(), self: path, web: listen(t, &oddWeb{})}
	tenants := map[string][]string{}
	seen := map[string]bool{}
	for _, s := range b.servers {
		if seen[s.name] {
			t.Fatalf("two rows make the server %s", s.name)
		}
		seen[s.name] = true
		tenant := s.tenant
		if tenant == "" {
			tenant = "default"
		}
		tenants[tenant] = append(tenants[tenant], "      "+s.name+": "+b.configured(s)+"\n")
	}
	var config strings.Builder
	config.WriteString("tenants:\n")
	for name, servers := range tenants {
		fmt.Fprintf(&config, "  %s:\n    servers:\n%s", name, strings.Join(servers, ""))
	}
	b.mcp = mcptest.Start(t, mcptest.HostOptions{Config: config.String()}).MCP
	return b
}

// configured is a server as the host's configuration has it.
func (b *oddBench) configured(s oddServer) string {
	said := ""
	if s.settings != "" {
		said = ", " + s.settings
	}
	switch s.over {
	case oddStdio:
		return fmt.Sprintf("{command: %q, env: {%s: %q, %s: %q}%s}", b.self, serveOddly, s.name, quickExit[0], quickExit[1], said)
	case oddSSE:
		return fmt.Sprintf("{url: %q, transport: sse%s}", b.web+"/mcpd/"+s.name+"/sse", said)
	}
	return fmt.Sprintf("{url: %q%s}", b.web+"/mcpd/"+s.name+"/mcp", said)
}

// direct is how a client connects without mcpd.
func (b *oddBench) direct(client string, s oddServer) oddTarget {
	switch s.over {
	case oddStdio:
		return oddTarget{Command: b.self, Env: map[string]string{serveOddly: s.name, quickExit[0]: quickExit[1]}}
	case oddSSE:
		return oddTarget{URL: b.web + "/" + client + "/" + s.name + "/sse", SSE: true}
	}
	return oddTarget{URL: b.web + "/" + client + "/" + s.name + "/mcp"}
}

// through is how a client connects through mcpd: to one server, or to all of its tenant.
func (b *oddBench) through(s oddServer, all bool) oddTarget {
	at := b.mcp
	if s.tenant != "" {
		at += "/t/" + s.tenant
	}
	if !all {
		at += "/" + s.name
	}
	return oddTarget{URL: at + "/mcp"}
}

// jobs are the sessions of a client, by way.
func (b *oddBench) jobs(client string) (all []oddJob) {
	for _, s := range b.servers {
		all = append(all,
			oddJob{s.name + " " + oddDirect, b.direct(client, s), s.wired(false), json.RawMessage(s.client)},
			oddJob{s.name + " " + oddThrough, b.through(s, false), s.wired(false), json.RawMessage(s.client)},
			oddJob{s.name + " " + oddAggregate, b.through(s, true), s.wired(true), json.RawMessage(s.client)})
	}
	return all
}

// sorted are the outcomes of jobs by server and way.
func (b *oddBench) sorted(outcomes map[string][]oddOutcome) map[string]map[string][]oddOutcome {
	by := map[string]map[string][]oddOutcome{}
	for _, s := range b.servers {
		by[s.name] = map[string][]oddOutcome{}
		for _, way := range []string{oddDirect, oddThrough, oddAggregate} {
			for _, o := range outcomes[s.name+" "+way] {
				o.Result = canonical(o.Result)
				if way == oddAggregate {
					o = o.own(s.name)
				}
				by[s.name][way] = append(by[s.name][way], o)
			}
		}
	}
	return by
}

// oddWidth is how many sessions are open at once.
const oddWidth = 8

// goSaw does all jobs with the Go client. Those with the aggregate come last, when all servers have been
// asked for their lists.
func (b *oddBench) goSaw() map[string]map[string][]oddOutcome {
	outcomes := map[string][]oddOutcome{}
	var mu sync.Mutex
	for _, last := range []bool{false, true} {
		var all sync.WaitGroup
		slots := make(chan struct{}, oddWidth)
		for _, job := range b.jobs("go") {
			if strings.HasSuffix(job.ID, oddAggregate) != last {
				continue
			}
			slots <- struct{}{}
			all.Go(func() {
				got := goClient(b.t.Context(), job)
				mu.Lock()
				outcomes[job.ID] = got
				mu.Unlock()
				<-slots
			})
		}
		all.Wait()
	}
	return b.sorted(outcomes)
}

// typescriptSaw does all jobs with the TypeScript client, in one process.
func (b *oddBench) typescriptSaw() map[string]map[string][]oddOutcome {
	t := b.t
	dir, err := installed()
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Logf("without the TypeScript client: %v", err)
		return nil
	}
	work := t.TempDir()
	if err := errors.Join(
		os.CopyFS(work, os.DirFS("testdata/npm")),
		os.Symlink(filepath.Join(dir, "node_modules"), filepath.Join(work, "node_modules")),
	); err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(map[string]any{"timeout": oddTime.Milliseconds(), "jobs": b.jobs("typescript")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	file := filepath.Join(work, "jobs.json")
	if err := os.WriteFile(file, input, 0o600); err != nil {
		t.Fatal(err)
	}
	node := exec.CommandContext(ctx, "node", filepath.Join(work, "odd.mjs"), file)
	var stderr bytes.Buffer
	node.Stderr = &stderr
	out, err := node.Output()
	if err != nil {
		t.Fatalf("odd.mjs: %v\n%s", err, stderr.String())
	}
	var outcomes map[string][]oddOutcome
	if err := json.Unmarshal(out, &outcomes); err != nil {
		t.Fatalf("odd.mjs: %v in %.300s", err, out)
	}
	return b.sorted(outcomes)
}
