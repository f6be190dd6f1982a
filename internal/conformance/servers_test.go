package conformance

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"mcpd/internal/mcptest"
)

// era is a protocol era.
type era string

const (
	legacy era = "legacy"
	modern era = "modern"
)

var eras = []era{legacy, modern}

// eraSettings are the settings that make mcpd speak to a server in an era.
var eraSettings = map[era]string{
	legacy: `max_version: "2025-11-25"`, modern: `min_version: "2026-07-28"`,
}

// column is one run of a set of scenarios for servers.
type column struct {
	server  *subject // nil for the server that is built into mcpd
	kind    string   // built-in, direct, stdio, or the era in which mcpd speaks to the server
	started era      // era for which the server is started
}

// serverColumns returns the runs of a set for servers, in their order.
func serverColumns(s set) []column {
	all := []column{
		{kind: "built-in"}, {kind: "legacy", started: legacy}, {kind: "modern", started: modern},
	}
	for i := range subjects {
		each := &subjects[i]
		all = append(all, column{each, "direct", s.era()})
		for _, e := range eras {
			all = append(all, column{each, string(e), e})
		}
	}
	return append(all, column{&subjects[0], "stdio", s.era()})
}

func (c column) String() string {
	if c.server == nil {
		return "mcpd " + c.kind
	}
	return c.server.name + " " + c.kind
}

// runNames returns the names of the runs of any set.
func runNames(s set) (names []string) {
	if s.role == "client" {
		for _, v := range clientRevisions {
			names = append(names, "for "+v)
		}
		return names
	}
	for _, c := range serverColumns(s) {
		names = append(names, c.String())
	}
	return names
}

// era returns the era of the set's clients.
func (s set) era() era {
	if s.revision < modernServer.revision {
		return legacy
	}
	return modern
}

// serverRuns prepares the runs of the two sets for servers. Every run has a server of its own, so
// no run sees the changes of another.
func serverRuns(t *testing.T, p programs) [][]*run {
	demos := mcptest.Start(t, mcptest.HostOptions{Config: oneEraEach})
	var (
		groups [][]*run
		urls   = map[*run]string{} // URLs that the suite tests
		behind = map[*run]string{} // keys of the servers in mcpd's configuration
		config = new(strings.Builder)
		mu     sync.Mutex
		all    sync.WaitGroup
		failed []error
	)
	config.WriteString("tenants:\n  default:\n    servers:\n      demo: {builtin: demo}\n")
	for _, s := range []set{legacyServer, modernServer} {
		var group []*run
		direct := map[*subject]*run{}
		for i, c := range serverColumns(s) {
			r := &run{set: s, name: c.String()}
			group = append(group, r)
			key := fmt.Sprintf("s%d-%s", i, s.era())
			add := func(settings string) {
				fmt.Fprintf(config, "      %s: {%s}\n", key, settings)
				behind[r] = key
			}
			switch {
			case c.kind == "built-in":
				behind[r] = "demo"
			case c.server == nil:
				add(fmt.Sprintf("url: %q", demos.MCP+"/t/"+c.kind+"/demo/mcp"))
			case c.kind == "stdio":
				r.direct = direct[c.server]
				add(fmt.Sprintf("command: %q", p.everything))
			default:
				if c.kind == "direct" {
					r.comparisonOnly = true
					direct[c.server] = r
				} else {
					r.direct = direct[c.server]
				}
				all.Go(func() {
					url, err := c.server.serve(p, t, c.started)
					mu.Lock()
					defer mu.Unlock()
					if failed = append(failed, err); r.comparisonOnly {
						urls[r] = url
					} else {
						add(fmt.Sprintf("url: %q, %s", url, eraSettings[c.started]))
					}
				})
			}
		}
		groups = append(groups, group)
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		t.Fatal(err)
	}
	host := mcptest.Start(t, mcptest.HostOptions{Config: config.String()})
	for r, key := range behind {
		urls[r] = host.MCP + "/" + key + "/mcp"
	}
	for r, url := range urls {
		r.args = []string{"--url", url}
	}
	return groups
}

// oneEraEach configures tenants that each allow one era, so their built-in server speaks only
// that era.
const oneEraEach = `
tenants:
  legacy: {servers: {demo: {builtin: demo}}, negotiation: {max_version: "2025-11-25"}}
  modern: {servers: {demo: {builtin: demo}}, negotiation: {min_version: "2026-07-28"}}
`
