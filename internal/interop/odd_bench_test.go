package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// oddBench is a host with all odd servers.
type oddBench struct {
	servers []oddServer
	mcp     string // base URL of the host
	web     string // base URL of the servers over HTTP
	relay   string // program of the servers over stdio
	socket  string // Unix socket to which relay connects
	script  func(stdin []byte, args ...string) ([]byte, error)
}

func newOddBench(t *testing.T) *oddBench {
	b := &oddBench{
		servers: oddServers(), web: listen(t, &oddWeb{}), relay: mcptest.Relay(t), socket: oddSocket(t),
		script: mcptest.Script(t, 5*time.Minute, "testdata/odd.mjs"),
	}
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

// configured returns a server's entry in the host's configuration.
func (b *oddBench) configured(s oddServer) string {
	said := ""
	if s.settings != "" {
		said = ", " + s.settings
	}
	switch s.over {
	case oddStdio:
		return fmt.Sprintf("{command: %q, args: [%q, %q]%s}", b.relay, b.socket, s.name, said)
	case oddSSE:
		return fmt.Sprintf("{url: %q, transport: sse%s}", b.web+"/mcpd/"+s.name+"/sse", said)
	}
	return fmt.Sprintf("{url: %q%s}", b.web+"/mcpd/"+s.name+"/mcp", said)
}

// direct returns the target of a client that connects without mcpd.
func (b *oddBench) direct(client string, s oddServer) oddTarget {
	switch s.over {
	case oddStdio:
		return oddTarget{Command: b.relay, Args: []string{b.socket, s.name}}
	case oddSSE:
		return oddTarget{URL: b.web + "/" + client + "/" + s.name + "/sse", SSE: true}
	}
	return oddTarget{URL: b.web + "/" + client + "/" + s.name + "/mcp"}
}

// through returns the target of a client that connects through mcpd, to one server or to all
// servers of its tenant.
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

// oddClients are the official clients. The page shows the outcomes of the first, and those of the
// others where they differ. The second speaks 2026-07-28 to mcpd.
var oddClients = []string{"TypeScript", "TypeScript 2", "Go"}

// jobs returns the sessions of a client. Those with the aggregate come last, when all servers have
// returned their lists.
func (b *oddBench) jobs(client string) (all [2][]oddJob) {
	for _, s := range b.servers {
		job := func(way string, target oddTarget) oddJob {
			return oddJob{
				s.name + " " + way, target, s.wireAsks(way == oddAggregate), json.RawMessage(s.client),
			}
		}
		all[0] = append(all[0], job(oddDirect, b.direct(strings.ReplaceAll(client, " ", ""), s)),
			job(oddThrough, b.through(s, false)))
		all[1] = append(all[1], job(oddAggregate, b.through(s, true)))
	}
	return all
}

// outcomes returns the outcomes of all clients. The clients run at the same time, because they
// mostly wait.
func (b *oddBench) outcomes(ctx context.Context) (oddSeen, error) {
	var all sync.WaitGroup
	var failed [3]error
	var seen [3]map[string][]oddOutcome
	for i, client := range oddClients {
		all.Go(func() {
			if client == "Go" {
				seen[i] = b.goOutcomes(ctx)
			} else {
				seen[i], failed[i] = b.typescriptOutcomes(client)
			}
		})
	}
	all.Wait()
	saw := oddSeen{}
	for i, client := range oddClients {
		saw[client] = b.sorted(client, seen[i])
	}
	return saw, errors.Join(failed[:]...)
}

// sorted returns the outcomes of a client's jobs by server and way.
func (b *oddBench) sorted(client string,
	outcomes map[string][]oddOutcome) map[string]map[string][]oddOutcome {
	by := map[string]map[string][]oddOutcome{}
	for _, s := range b.servers {
		by[s.name] = map[string][]oddOutcome{}
		for _, way := range []string{oddDirect, oddThrough, oddAggregate} {
			for _, o := range outcomes[s.name+" "+way] {
				o.Result = canonical(o.Result)
				if way == oddAggregate {
					o = o.own(s.name)
				}
				if client == "TypeScript 2" {
					o = o.unframed()
				}
				by[s.name][way] = append(by[s.name][way], o)
			}
		}
	}
	return by
}

// oddWidth is the number of sessions that a client has open at the same time.
const oddWidth = 8

// goOutcomes runs all jobs with the Go client.
func (b *oddBench) goOutcomes(ctx context.Context) map[string][]oddOutcome {
	outcomes := map[string][]oddOutcome{}
	var mu sync.Mutex
	for _, jobs := range b.jobs("Go") {
		var all sync.WaitGroup
		slots := make(chan struct{}, oddWidth)
		for _, job := range jobs {
			slots <- struct{}{}
			all.Go(func() {
				got := goClient(ctx, job)
				mu.Lock()
				outcomes[job.ID] = got
				mu.Unlock()
				<-slots
			})
		}
		all.Wait()
	}
	return outcomes
}

// typescriptOutcomes runs all jobs with a generation of the TypeScript client, in one process.
func (b *oddBench) typescriptOutcomes(client string) (outcomes map[string][]oddOutcome, err error) {
	input, err := json.Marshal(map[string]any{
		"timeout": oddTime.Milliseconds(), "pause": oddPause.Milliseconds(), "width": oddWidth,
		"jobs": b.jobs(client),
	})
	if err != nil {
		return nil, err
	}
	generation := map[string]string{"TypeScript": "1", "TypeScript 2": "2"}[client]
	out, err := b.script(input, generation)
	if err != nil {
		return nil, err
	}
	return outcomes, json.Unmarshal(out, &outcomes)
}
