package features

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcpd/internal/mcptest"
)

// era is the kind of revisions that a client or server speaks.
type era string

const (
	legacy era = "legacy" // 2025-11-25
	modern era = "modern" // 2026-07-28
)

// sdk is an SDK. The test has a client and a server program of each SDK, which use all features of
// that SDK.
type sdk struct {
	name, short    string
	client, server string // packages
	eras           []era
}

var (
	ts1 = &sdk{
		"TypeScript 1", "ts1", "@modelcontextprotocol/sdk", "@modelcontextprotocol/sdk", []era{legacy},
	}
	ts2 = &sdk{
		"TypeScript 2", "ts2", "@modelcontextprotocol/client", "@modelcontextprotocol/server",
		[]era{legacy, modern},
	}
	goSDK = &sdk{
		"Go", "go", "github.com/modelcontextprotocol/go-sdk", "github.com/modelcontextprotocol/go-sdk",
		[]era{legacy, modern},
	}
	mcpGo = &sdk{
		"mcp-go", "mcpgo", "github.com/mark3labs/mcp-go", "github.com/mark3labs/mcp-go",
		[]era{legacy, modern},
	}
	sdks = []*sdk{ts1, ts2, goSDK, mcpGo}
)

// client is a client of an SDK in one era, with its transport to mcpd.
type client struct {
	sdk  *sdk
	era  era
	over string // http or stdio; empty for a client that connects to servers directly
}

func (c client) String() string {
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s %s", c.sdk.name, c.over, c.era)), " ")
}

const (
	overHTTP  = "http"
	overStdio = "stdio"
)

// server is a server of an SDK with one transport in one era.
type server struct {
	sdk *sdk
	way string // stdio, stateful or stateless
	era era
}

// ways are the transports of servers in each era. Only legacy revisions have sessions over
// Streamable HTTP.
var ways = map[era][]string{
	legacy: {"stdio", "stateful", "stateless"}, modern: {"stdio", "stateless"},
}

func (s server) String() string { return fmt.Sprintf("%s %s %s", s.sdk.name, s.way, s.era) }

// id is the name of the server in the configuration of mcpd.
func (s server) id() string { return fmt.Sprintf("%s-%s-%s", s.sdk.short, s.way, s.era) }

// clients returns all clients.
func clients() (all []client) {
	for _, s := range sdks {
		for _, e := range s.eras {
			all = append(all, client{s, e, overHTTP}, client{s, e, overStdio})
		}
	}
	return all
}

func servers() (all []server) {
	for _, s := range sdks {
		for _, e := range s.eras {
			for _, way := range ways[e] {
				all = append(all, server{s, way, e})
			}
		}
	}
	return all
}

// programs has the commands of the client and server programs.
type programs struct {
	node string            // the folder of the scripts
	bin  map[string]string // paths of the Go programs, by the short name of the SDK
}

func newPrograms(t *testing.T) *programs {
	t.Helper()
	p := &programs{
		node: filepath.Dir(mcptest.ScriptFile(t, "testdata/client.mjs")), bin: map[string]string{},
	}
	for _, name := range []string{"server", "serve1", "serve2", "pages"} {
		text, err := os.ReadFile("testdata/" + name + ".mjs")
		if err == nil {
			err = os.WriteFile(filepath.Join(p.node, name+".mjs"), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	bin := t.TempDir()
	if out, err := exec.Command("go", "-C", "../tools", "build", "-o", bin+"/",
		"./features/...").CombinedOutput(); err != nil {
		t.Fatalf("build of the Go programs: %v\n%s", err, out)
	}
	p.bin[goSDK.short], p.bin[mcpGo.short] = filepath.Join(bin, "gosdk"), filepath.Join(bin, "mcpgo")
	return p
}

// client returns the command line of a client.
func (p *programs) client(c client) []string {
	if bin := p.bin[c.sdk.short]; bin != "" {
		return []string{bin, "client", string(c.era)}
	}
	return []string{"node", filepath.Join(p.node, "main.mjs"), generation(c.sdk), string(c.era)}
}

// server returns the command line of a server.
func (p *programs) server(s server) []string {
	if bin := p.bin[s.sdk.short]; bin != "" {
		return []string{bin, "serve", s.way, string(s.era)}
	}
	return []string{
		"node", filepath.Join(p.node, "server.mjs"), generation(s.sdk), s.way, string(s.era),
	}
}

func generation(s *sdk) string { return s.short[len("ts"):] }
