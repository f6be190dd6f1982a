package run

import (
	"context"
	"runtime/pprof"
	"strings"
	"testing"
)

// waitForTheEnd is a goroutine that a profile has to name.
func waitForTheEnd(ctx context.Context, runs chan<- struct{}) {
	runs <- struct{}{}
	<-ctx.Done()
}

func TestGoroutinesAreNamedByTheirFirstFunction(t *testing.T) {
	profile := func() map[string]int {
		var text strings.Builder
		if err := pprof.Lookup("goroutine").WriteTo(&text, 1); err != nil {
			t.Fatal(err)
		}
		return byStart(text.String())
	}
	before := profile()
	runs := make(chan struct{})
	for range 2 {
		go waitForTheEnd(t.Context(), runs) // ends with the test
		<-runs
	}
	if got := more(before, profile()); got != "2 more in mcpd/chaos/run.waitForTheEnd" {
		t.Errorf("%q", got)
	}
	if got := more(before, before); got != "" {
		t.Errorf("%q", got)
	}
}
