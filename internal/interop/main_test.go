package interop

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
)

// The host starts the test binary itself as its servers. With one of these variables set, the
// binary serves on standard input and output instead of running tests. The value is the server's
// name.
const (
	serveSDK = "INTEROP_SERVE_SDK" // the fixture, made with the official Go SDK
	serveOld = "INTEROP_SERVE_OLD" // the same, without the revision that has no handshake
	serveRaw = "INTEROP_SERVE_RAW" // a server that returns the bytes it received
	serveOne = "INTEROP_SERVE_ONE" // the built-in server in the one revision that is the value
)

func TestMain(m *testing.M) {
	if name := os.Getenv(serveSDK); name != "" {
		exit(newFixture(name).Run(context.Background(), &mcp.StdioTransport{}))
	}
	if name := os.Getenv(serveOld); name != "" {
		exit(newFixture(name).legacyOnly().Run(context.Background(), &mcp.StdioTransport{}))
	}
	if revision := os.Getenv(serveOne); revision != "" {
		exit(serveNoting(revision))
	}
	if os.Getenv(serveKeeper) != "" {
		exit(serveKeeping(os.Stdin, os.Stdout))
	}
	if os.Getenv(serveRaw) != "" {
		exit(serveMirror(os.Stdin, os.Stdout))
	}
	mcptest.Main(m)
}

// quickExit stops programs with the race detector from sleeping for a second before they exit,
// which adds up.
var quickExit = [2]string{"GORACE", "atexit_sleep_ms=0"}

// unlessRaced returns n, or raced with the race detector, which makes everything many times slower.
// make nightly runs the tests without it.
func unlessRaced(n, raced int) int {
	if mcptest.RaceEnabled {
		return raced
	}
	return n
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "interop server:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// selfConfig returns the configuration of a server that is this binary.
func selfConfig(t *testing.T, variable, name string) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("{command: %q, env: {%s: %q, %s: %q}}", path, variable, name, quickExit[0],
		quickExit[1])
}
