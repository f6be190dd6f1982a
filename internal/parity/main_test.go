package parity

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"mcpd/internal/mcptest"
)

var (
	full   = flag.Bool("full", false, "survey all servers, and hold that every rule applies")
	update = flag.Bool("update", false, "write docs/parity.md; needs -full")
)

// apart is set in the process that runs the tests in a network namespace of its own.
const apart = "MCPD_PARITY_APART"

// TestMain fetches what the tests need and then runs them where there is no network, so that
// nothing that a server does can leave the machine.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv(apart) == "" && prepare() == nil {
		command, err := alone()
		if err == nil {
			os.Exit(command.ProcessState.ExitCode())
		}
		fmt.Fprintln(os.Stderr, "parity: the tests run beside the network:", err)
	}
	if os.Getenv(apart) != "" {
		if err := loopback(); err != nil {
			fmt.Fprintln(os.Stderr, "parity:", err)
			os.Exit(1)
		}
	}
	mcptest.Main(m)
}

// prepare fetches all that the network is needed for.
var prepare = sync.OnceValue(func() error {
	for _, folder := range folders() {
		if _, err := mcptest.Packages("testdata/" + folder); err != nil {
			return err
		}
	}
	return exec.Command("go", "list", "-deps", "mcpd/cmd/mcpd").Run()
})

// folders are the ones of testdata with packages that this run uses.
func folders() []string {
	if *full {
		return []string{"npm", "more"}
	}
	return []string{"npm"}
}

// modules is the folder with the packages that a folder of testdata locks. Where there is no Node
// or no registry the test is skipped; under CI=true it fails.
func modules(t *testing.T, folder string) string {
	t.Helper()
	dir, err := mcptest.Packages("testdata/" + folder)
	switch {
	case err == nil:
		return dir
	case os.Getenv("CI") == "true":
		t.Fatal(err)
	}
	t.Skipf("needs Node, and the npm registry once: %v", err)
	return ""
}
