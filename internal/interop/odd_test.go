package interop

import (
	"fmt"
	"testing"

	"mcpd/internal/mcptest"
)

//go:generate go test -run ^TestOddServers$ . -update

// The ways to an odd server.
const (
	oddDirect    = "direct"
	oddThrough   = "through"   // /SERVER/mcp
	oddAggregate = "aggregate" // /mcp
)

// oddSeen are outcomes by client, server and way.
type oddSeen map[string]map[string]map[string][]oddOutcome

// An odd server works as well through mcpd as directly, alone and in the aggregate: each answer
// arrives as an official client gets it directly, or better. The table is the documentation.
func TestOddServers(t *testing.T) {
	if mcptest.RaceEnabled {
		t.Skip("its hundreds of programs take ten times as long with the race detector: make docs runs " +
			"it without")
	}
	b := newOddBench(t)
	saw, err := b.outcomes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	failed := false
	for _, s := range b.servers {
		t.Run(s.name, func(t *testing.T) {
			for i, a := range s.asks {
				for client, by := range saw {
					for _, way := range []string{oddThrough, oddAggregate} {
						if reason := a.wrong(client, way, by[s.name], i); reason != "" {
							t.Errorf("%s %s, %s client, %s: %s", a.method, a.params, client, way, reason)
							failed = true
						}
					}
				}
			}
		})
	}
	if failed && !*update {
		return
	}
	compare(t, oddDoc, oddPage(b.servers, saw))
}

// wrong describes the error in the outcome of one way, or returns an empty string if there is none.
func (a oddAsk) wrong(client, way string, by map[string][]oddOutcome, i int) string {
	got, want := by[way][i], a.through
	if way == oddAggregate {
		if a.notAggregate {
			return ""
		}
		want = a.aggregate
	}
	if client == "TypeScript 2" && a.modern.because != "" {
		if want = a.modern.through; way == oddAggregate {
			want = a.modern.aggregate
		}
	}
	direct := by[oddDirect][i]
	if direct.Failed == oddCannot {
		return ""
	}
	if want != "" {
		if got.String() != want {
			return fmt.Sprintf("%s, want %s", got, want)
		}
		return ""
	}
	return worse(direct, got)
}
