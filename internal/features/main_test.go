package features

import (
	"flag"
	"testing"

	"mcpd/internal/mcptest"
)

var (
	full = flag.Bool("full", false, "try every cell, and hold that every row of differences applies")
	only = flag.String("cells", "",
		"try the cells that match this regular expression, as 'Go http modern to .*, same era'")
	update = flag.Bool("update", false,
		"write what was seen into docs/features.md; other cells stay as they are")
)

func TestMain(m *testing.M) {
	flag.Parse()
	mcptest.Main(m)
}
