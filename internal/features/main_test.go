package features

import (
	"flag"
	"testing"

	"mcpd/internal/mcptest"
)

var (
	full   = flag.Bool("full", false, "try every cell, and hold that every row of differences applies")
	update = flag.Bool("update", false, "write docs/features.gen.md; needs -full")
)

func TestMain(m *testing.M) {
	flag.Parse()
	mcptest.Main(m)
}
