package bench

import (
	"testing"

	"mcpd/bench/kit"
	"mcpd/internal/mcptest"
)

func TestMain(m *testing.M) {
	kit.RunIfRole(Roles)
	mcptest.Main(m)
}

// unraced skips a measurement under the race detector, whose overhead would dominate it.
func unraced(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("under the race detector there is nothing to measure")
	}
}
