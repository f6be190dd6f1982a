package main

import (
	"testing"
	"time"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
)

// A row that has handled one message for too long is marked, although it is running.
func TestTreeMarksWhatIsStuck(t *testing.T) {
	stuck := true
	for want, n := range map[string]*mcpdv1.Node{
		"  STUCK at one message": {Type: "worker", Status: "running", Stuck: &stuck},
		"  ":                     {Type: "worker", Status: "running"},
	} {
		if got := describe(n, time.Now()); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
