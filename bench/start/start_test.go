package start

import (
	"os"
	"testing"

	"mcpd/bench/kit"
	"mcpd/internal/load"
)

func TestMain(m *testing.M) {
	kit.Act(Roles)
	os.Exit(m.Run())
}

func TestManyServersAreComparedWithOne(t *testing.T) {
	r := &kit.Run{Short: true, Seed: 1, Say: t.Logf}
	if err := measure(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	c := r.Record.Comparisons
	if len(c) != 1 || c[0].Pairs != 2*load.MinPairs || c[0].Ratio <= 0 || len(r.Record.Measurements) != 2 {
		t.Errorf("got %+v", r.Record)
	}
}
