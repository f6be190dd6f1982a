package conformance

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// sdkServer is the official Go SDK's server for the suite. Its version is that of the tools module.
const sdkServer = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"

// serverTime bounds the start of a server.
const serverTime = 30 * time.Second

// serverRuns are those of the two sets for servers. Every run has a server of its own, so that they do not see one another's changes.
func serverRuns(t *testing.T) [][]*run {
	binary := filepath.Join(t.TempDir(), "everything-server")
	if out, err := exec.Command("go", "-C", "../tools", "build", "-o", binary, sdkServer).CombinedOutput(); err != nil {
		t.Fatalf("build of %s: %v\n%s", sdkServer, err, out)
	}
	old, recent := "stateless=false", "stateless=true"
	sdk := func(era string) string { return serveSDK(t, binary, era) }
	demos := mcptest.Start(t, mcptest.HostOptions{Config: oneEraEach})
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(behind,
		sdk(old), sdk(recent), sdk(old), sdk(recent), binary, binary,
		demos.MCP+"/t/legacy/demo/mcp", demos.MCP+"/t/modern/demo/mcp", demos.MCP+"/t/legacy/demo/mcp", demos.MCP+"/t/modern/demo/mcp")})
	at := func(name string) string { return host.MCP + "/" + name + "/mcp" }
	server := func(s set, name, url string, r run) *run {
		r.set, r.name, r.args = s, name, []string{"--url", url}
		return &r
	}
	// A server that does not know the revision is compared with itself in the era that does.
	demo25, demo26 := server(legacyServer, "built-in", at("demo"), run{}), server(modernServer, "built-in", at("demo"), run{})
	sdk25, sdk26 := server(legacyServer, "SDK alone", sdk(old), run{free: true}), server(modernServer, "SDK alone", sdk(recent), run{free: true})
	return [][]*run{{
		demo25, sdk25,
		server(legacyServer, "SDK legacy", at("sdk-legacy-25"), run{against: sdk25}),
		server(legacyServer, "SDK stdio", at("sdk-stdio-25"), run{against: sdk25}),
		server(legacyServer, "SDK modern", at("sdk-modern-25"), run{against: sdk25}),
		server(legacyServer, "demo legacy", at("demo-legacy-25"), run{}),
		server(legacyServer, "demo modern", at("demo-modern-25"), run{}),
	}, {
		demo26, sdk26,
		server(modernServer, "SDK modern", at("sdk-modern-26"), run{against: sdk26}),
		server(modernServer, "SDK stdio", at("sdk-stdio-26"), run{against: sdk26}),
		server(modernServer, "SDK legacy", at("sdk-legacy-26"), run{against: sdk26}),
		server(modernServer, "demo modern", at("demo-modern-26"), run{}),
		server(modernServer, "demo legacy", at("demo-legacy-26"), run{}),
	}}
}

// oneEraEach is a host whose tenants each know one era, so that the built-in server in them does.
const oneEraEach = `
tenants:
  legacy: {servers: {demo: {builtin: demo}}, negotiation: {max_version: "2025-11-25"}}
  modern: {servers: {demo: {builtin: demo}}, negotiation: {min_version: "2026-07-28"}}
`

// behind is the host in front of all servers.
const behind = `
tenants:
  default:
    servers:
      demo: {builtin: demo}
      sdk-legacy-25: {url: %q}
      sdk-modern-25: {url: %q}
      sdk-legacy-26: {url: %q}
      sdk-modern-26: {url: %q}
      sdk-stdio-25: {command: %q}
      sdk-stdio-26: {command: %q}
      demo-legacy-25: {url: %q}
      demo-modern-25: {url: %q}
      demo-legacy-26: {url: %q}
      demo-modern-26: {url: %q}
`

// serveSDK starts the SDK's server over HTTP, as one flag says, and returns its URL. It ends with the test.
func serveSDK(t *testing.T, binary, flag string) string {
	free, err := net.Listen("tcp", "127.0.0.1:0") // it cannot say which port the kernel gave it
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	free.Close()
	command := exec.Command(binary, "-http", addr, "-"+flag)
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill() // it has no other end
		_ = command.Wait()
	})
	for deadline := time.Now().Add(serverTime); ; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			return "http://" + addr + "/"
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not listen on %s", sdkServer, addr)
		}
	}
}
