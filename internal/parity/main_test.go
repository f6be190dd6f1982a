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
