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

// isolatedVariable is the environment variable that is set in the process with its own network
// namespace.
const isolatedVariable = "MCPD_PARITY_APART"

// TestMain downloads what the tests need and then runs them without a network, so that no server
// can send anything off this machine.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv(isolatedVariable) == "" && prepare() == nil {
		command, err := runIsolated()
		if err == nil {
			os.Exit(command.ProcessState.ExitCode())
		}
		fmt.Fprintln(os.Stderr, "parity: the tests run beside the network:", err)
	}
	if os.Getenv(isolatedVariable) != "" {
		if err := loopback(); err != nil {
			fmt.Fprintln(os.Stderr, "parity:", err)
			os.Exit(1)
		}
	}
	mcptest.Main(m)
}

// prepare downloads everything that needs the network.
var prepare = sync.OnceValue(func() error {
	locks := []string{"npm"}
	if *full {
		locks = append(locks, "npm/more")
	}
	for _, lock := range locks {
		if _, err := mcptest.Packages(lock); err != nil {
			return err
		}
	}
	return exec.Command("go", "list", "-deps", "mcpd/cmd/mcpd").Run()
})
