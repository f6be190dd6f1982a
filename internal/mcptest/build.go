package mcptest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// The commands that tests run. Each is built at most once in a test process, and only when a test
// asks for it.
var (
	hostBinary = sync.OnceValues(func() (string, error) {
		return build("mcpd/cmd/mcpd", "", RaceEnabled)
	})
	serverBinary = sync.OnceValues(func() (string, error) {
		return build("mcpd/internal/mcptest/testserver", "", false)
	})
	relayBinary = sync.OnceValues(func() (string, error) {
		return build("mcpd/internal/mcptest/relay", "", false)
	})
	// binaries is the folder for them. Main removes it.
	binaries = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "mcptest-") })
)

// A program with the race detector sleeps for a second before it exits by default. This setting
// disables that; the hundreds of programs that tests start inherit it.
const (
	raceOptions = "GORACE"
	quickExit   = "atexit_sleep_ms=0"
)

// Main runs the tests of a package and removes what mcptest has built. It is for the TestMain of
// packages that run binaries.
func Main(m *testing.M) { os.Exit(Run(m)) }

// Run is Main without the exit, for a TestMain that has more to do. It takes a *testing.M.
func Run(m interface{ Run() int }) int {
	if os.Getenv(raceOptions) == "" {
		if err := os.Setenv(raceOptions, quickExit); err != nil {
			fmt.Fprintln(os.Stderr, "mcptest:", err)
			return 1
		}
	}
	code := m.Run()
	if dir, err := binaries(); err == nil {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, "mcptest:", err)
			code = max(code, 1)
		}
	}
	return code
}

// build compiles a command of the module, with a build tag unless tag is empty. It omits debugging
// information. Only the host has the race detector, and only if the test has it. Other programs
// would be slower and sleep before they exit, and for a host that a tag breaks, most of the module
// would be compiled once more.
func build(pkg, tag string, raced bool) (string, error) {
	dir, err := binaries()
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, filepath.Base(pkg)+tag)
	args := []string{"build", "-ldflags=-w", "-tags", tag, "-o", file}
	if raced {
		args = append(args, "-race")
	}
	output, err := exec.Command("go", append(args, pkg)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build of %s: %w\n%s", pkg, err, output)
	}
	return file, nil
}

// Server returns the path of the test server's binary, an MCP server on stdin and stdout. See its
// folder for its features.
func Server(t testing.TB) string {
	t.Helper()
	return binary(t, serverBinary)
}

// Relay returns the path of a program that connects its standard input and output to a socket. See
// its folder.
func Relay(t testing.TB) string {
	t.Helper()
	return binary(t, relayBinary)
}

// Mcpd returns the path of the host's binary.
func Mcpd(t testing.TB) string {
	t.Helper()
	return binary(t, hostBinary)
}

// BrokenHost returns the path of a host that was built with a tag that breaks it. The files with
// that tag describe the bug.
func BrokenHost(t testing.TB, tag string) string {
	t.Helper()
	return binary(t, func() (string, error) { return build("mcpd/cmd/mcpd", tag, false) })
}

func binary(t testing.TB, build func() (string, error)) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// exitCode returns the exit code of a finished command, or -1 if a signal ended it.
func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}
