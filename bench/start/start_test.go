package start

import (
	"os"
	"slices"
	"testing"

	"mcpd/bench/kit"
	"mcpd/bench/subject"
	"mcpd/internal/load"
)

func TestMain(m *testing.M) {
	kit.RunIfRole(slices.Concat(Roles, subject.Roles))
	os.Exit(m.Run())
}

func TestManyServersAreComparedWithOne(t *testing.T) {
	r := &kit.Run{Short: true, Seed: 1, Say: t.Logf}
	if err := measure(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	c := r.Record.Comparisons
	if len(c) != 1 || c[0].Pairs != 2*load.MinPairs || c[0].Ratio <= 0 ||
		len(r.Record.Measurements) != 2 {
		t.Errorf("got %+v", r.Record)
	}
}

func TestKilledProcessesAreBack(t *testing.T) {
	r := &kit.Run{Short: true, Seed: 1, Say: t.Logf}
	if err := measureKilled(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if c := r.Record.Comparisons; len(c) != 3 {
		t.Errorf("got %+v", c)
	}
	for _, m := range r.Record.Measurements {
		if len(m.Rounds) != 2*load.MinPairs || slices.Min(m.Rounds) <= 0 {
			t.Errorf("%+v", m)
		}
		t.Log(m.Case, m.Subject, m.Quantity, m.Rounds)
	}
}
