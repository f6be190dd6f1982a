package endings

import (
	"flag"
	"testing"

	"mcpd/internal/mcptest"
)

var (
	full   = flag.Bool("full", false, "20 clients of each kind, and the host's usual time to drain")
	update = flag.Bool("update", false, "write docs/endings.md; needs -full")
)

func TestMain(m *testing.M) {
	flag.Parse()
	mcptest.Main(m)
}

// fullOrShort returns the first value in the full form and the second in the short form.
func fullOrShort[T any](inFull, inShort T) T {
	if *full {
		return inFull
	}
	return inShort
}
