package scale

import (
	"flag"
	"testing"

	"mcpd/internal/mcptest"
)

var (
	full   = flag.Bool("full", false, "a thousand servers and thousands of clients")
	update = flag.Bool("update", false, "write docs/scale.md; needs -full")
	binary = flag.String("mcpd", "", "another build of mcpd")
)

func TestMain(m *testing.M) { mcptest.Main(m) }
