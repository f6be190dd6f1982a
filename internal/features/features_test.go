package features

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mcpd/internal/mcptest"
)

// cell is a client with a server behind mcpd.
type cell struct {
	client client
	server server
}

func (c cell) String() string { return fmt.Sprintf("%s to %s", c.client, c.server) }

// eras names the eras of the client and the server.
func (c cell) eras() string {
	if c.client.era == c.server.era {
		return same
	}
	return fmt.Sprintf("%s to %s", c.client.era, c.server.era)
}

// reference returns the client whose direct session is the reference for the cell. It is a client
// of the same SDK if that SDK speaks the server's era, and of TypeScript 2 otherwise.
func (c cell) reference() client {
	if slices.Contains(c.client.sdk.eras, c.server.era) {
		return client{sdk: c.client.sdk, era: c.server.era}
	}
	return client{sdk: ts2, era: c.server.era}
}

// Clients of the official SDKs get the same results through mcpd as directly. If mcpd bridges two
// eras, they get the results that the bridge table requires.
func TestFeatures(t *testing.T) {
	cells := selectedCells(t)
	b := newBench(t, serversOf(cells))
	report := newReport()
	t.Run("cells", func(t *testing.T) {
		for _, s := range b.servers {
			t.Run(s.String(), func(t *testing.T) {
				t.Parallel()
				b.try(t, report, ofServer(cells, s))
			})
		}
	})
	report.finish(t)
}

// selectedCells returns the cells that this run tests: the quick ones, all of them, or those that
// match a pattern.
func selectedCells(t *testing.T) []cell {
	t.Helper()
	if !*full && *only == "" {
		return product(quickCells())
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		t.Fatal(err)
	}
	some := slices.DeleteFunc(product(clients(), servers()), func(c cell) bool {
		return !pattern.MatchString(fmt.Sprintf("%s, %s", c, c.eras()))
	})
	if len(some) == 0 {
		t.Fatalf("no cell matches %q", *only)
	}
	return some
}

func product(some []client, behind []server) (all []cell) {
	for _, c := range some {
		for _, s := range behind {
			all = append(all, cell{c, s})
		}
	}
	return all
}

func serversOf(cells []cell) (all []server) {
	for _, c := range cells {
		if !slices.Contains(all, c.server) {
			all = append(all, c.server)
		}
	}
	return all
}

func ofServer(cells []cell, s server) (some []cell) {
	for _, c := range cells {
		if c.server == s {
			some = append(some, c)
		}
	}
	return some
}

// quickCells returns the clients and servers that every run tests.
func quickCells() ([]client, []server) {
	return []client{
			{ts1, legacy, overHTTP}, {ts2, modern, overHTTP}, {goSDK, modern, overHTTP},
			{goSDK, legacy, overStdio},
			{mcpGo, modern, overHTTP},
		}, []server{
			{ts1, "stdio", legacy}, {ts2, "stateless", modern}, {goSDK, "stateful", legacy},
			{goSDK, "stdio", modern},
			{mcpGo, "stdio", legacy},
		}
}

// bench has the servers, and the host in front of them.
type bench struct {
	*programs
	servers []server
	urls    map[server]string
	host    *mcptest.Host
}

func newBench(t *testing.T, behind []server) *bench {
	t.Helper()
	b := &bench{programs: newPrograms(t), servers: behind, urls: map[server]string{}}
	config := "tenants:\n  default:\n    servers:\n"
	for _, s := range behind {
		command := b.server(s)
		at := fmt.Sprintf("command: %q, args: [%s]", command[0], quoted(command[1:]))
		if s.way != "stdio" {
			b.urls[s] = serve(t, command)
			at = fmt.Sprintf("url: %q", b.urls[s])
		}
		// The configuration binds a server that speaks both eras to one of them.
		bound := map[era]string{legacy: `max_version: "2025-11-25"`,
			modern: `min_version: "2026-07-28"`}[s.era]
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

// try tests all cells of one server. The clients run one after the other, because sessions at one
// server receive notifications of each other's changes.
func (b *bench) try(t *testing.T, report *report, cells []cell) {
	references := map[client]seen{}
	for _, c := range cells {
		r := c.reference()
		if _, ok := references[r]; !ok {
			way := direct(b.server(c.server), b.urls[c.server])
			references[r] = runClient(t, b.client(r),
				way.named(c.server, "direct-%s-%s", r.sdk.short, r.era))
		}
		way := b.through(t, c)
		saw := runClient(t, b.client(c.client),
			way.named(c.server, "through-%s-%s-%s", c.client.sdk.short, c.client.over, c.client.era))
		report.judge(t, c, references[r], saw)
	}
}

// through returns a session in which a client reaches a server through mcpd.
func (b *bench) through(t *testing.T, c cell) session {
	url := b.host.MCP + "/" + c.server.id() + "/mcp"
	if c.client.over == overStdio {
		return session{Command: mcptest.Mcpd(t), Args: []string{"stdio", "--url", url}}
	}
	return session{URL: url}
}
