package features

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcpd/internal/mcptest"
)

// cell is a client with a server behind mcpd.
type cell struct {
	client client
	server server
}

func (c cell) String() string { return fmt.Sprintf("%s to %s", c.client, c.server) }

// eras names the pair of eras.
func (c cell) eras() string {
	if c.client.era == c.server.era {
		return same
	}
	return fmt.Sprintf("%s to %s", c.client.era, c.server.era)
}

// reference is the client whose direct session the cell is compared with: of the same SDK if that
// speaks the server's era.
func (c cell) reference() client {
	if slices.Contains(c.client.sdk.eras, c.server.era) {
		return client{sdk: c.client.sdk, era: c.server.era}
	}
	return client{sdk: ts2, era: c.server.era}
}

// Clients of the official SDKs see through mcpd what they see directly, and where mcpd bridges two
// eras what the bridge table says.
func TestFeatures(t *testing.T) {
	some, behind := clients(), servers()
	if !*full {
		some, behind = quick()
	}
	b := newBench(t, behind)
	b.refer(t, some)
	report := newReport()
	t.Run("through mcpd", func(t *testing.T) {
		for _, c := range some {
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				var plan []session
				for _, s := range b.servers {
					plan = append(plan, b.through(t, c, s).named("through-%s-%s-%s-%s", c.sdk.short, c.over, c.era, s.id()))
				}
				for i, saw := range visit(t, b.client(c), plan) {
					one := cell{c, b.servers[i]}
					report.judge(one, b.references[cell{one.reference(), one.server}], saw)
				}
			})
		}
	})
	report.finish(t, some, behind)
}

// quick are the clients and servers of every run.
func quick() ([]client, []server) {
	return []client{
			{ts1, legacy, overHTTP}, {ts2, modern, overHTTP}, {goSDK, modern, overHTTP}, {goSDK, legacy, overStdio},
			{mcpGo, modern, overHTTP},
		}, []server{
			{ts1, "stdio", legacy}, {ts2, "stateless", modern}, {goSDK, "stateful", legacy}, {goSDK, "stdio", modern},
			{mcpGo, "stdio", legacy},
		}
}

// bench has the servers, and the host in front of them.
type bench struct {
	*programs
	servers []server
	urls    map[server]string
	host    *mcptest.Host

	mu         sync.Mutex // guards references
	references map[cell]seen
}

func newBench(t *testing.T, behind []server) *bench {
	t.Helper()
	b := &bench{programs: newPrograms(t), servers: behind, urls: map[server]string{}, references: map[cell]seen{}}
	config := "tenants:\n  default:\n    servers:\n"
	for _, s := range behind {
		command := b.server(s)
		at := fmt.Sprintf("command: %q, args: [%s]", command[0], quoted(command[1:]))
		if s.way != "stdio" {
			b.urls[s] = serve(t, command)
			at = fmt.Sprintf("url: %q", b.urls[s])
		}
		// A server that speaks both eras is spoken to in one of them.
		bound := map[era]string{legacy: `max_version: "2025-11-25"`, modern: `min_version: "2026-07-28"`}[s.era]
		config += fmt.Sprintf("      %s: {%s, %s}\n", s.id(), at, bound)
	}
	b.host = mcptest.Start(t, mcptest.HostOptions{Config: config})
	return b
}

func quoted(args []string) string {
	var all []string
	for _, arg := range args {
		all = append(all, fmt.Sprintf("%q", arg))
	}
	return strings.Join(all, ", ")
}

// through is how a client gets to a server through mcpd.
func (b *bench) through(t *testing.T, c client, s server) session {
	url := b.host.MCP + "/" + s.id() + "/mcp"
	if c.over == overStdio {
		return session{Command: mcptest.Mcpd(t), Args: []string{"stdio", "--url", url}}
	}
	return session{URL: url}
}

// refer has clients visit servers directly, as many as the cells need.
func (b *bench) refer(t *testing.T, some []client) {
	wanted := map[client][]server{}
	for _, c := range some {
		for _, s := range b.servers {
			r := cell{c, s}.reference()
			if !slices.Contains(wanted[r], s) {
				wanted[r] = append(wanted[r], s)
			}
		}
	}
	t.Run("directly", func(t *testing.T) {
		for c, there := range wanted {
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				var plan []session
				for _, s := range there {
					plan = append(plan, direct(b.server(s), b.urls[s]).named("direct-%s-%s-%s", c.sdk.short, c.era, s.id()))
				}
				for i, saw := range visit(t, b.client(c), plan) {
					if saw.Refused != nil {
						t.Fatalf("%s to %s directly: %v", c, there[i], saw.Refused)
					}
					b.mu.Lock()
					b.references[cell{c, there[i]}] = saw
					b.mu.Unlock()
				}
			})
		}
	})
}
