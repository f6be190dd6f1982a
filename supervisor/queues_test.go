package supervisor

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"mcpd/supervisor/otp"
	"mcpd/transport"
)

// Every queue of the table, and the mailboxes of every kind of actor, show their high-water mark
// and their limit.
func TestQueuesAreShown(t *testing.T) {
	h := literal(t)
	tree, err := h.system.Start(t.Context(), root, h.tree())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := tree.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	full := &budgets{answers: transport.NewByteBudget(100), bodies: transport.NewByteBudget(100)}
	for i, budget := range []*transport.ByteBudget{full.answers, full.bodies} {
		budget.Add(9_999_990 + i) // more than the number of events that ever wait on a busy machine
		budget.Add(-9_999_990 - i)
	}
	h.budgets.Store("t", full)
	marks := h.store.Marks()
	for i, mark := range []interface{ Note(int) }{
		&h.marks.requests, &h.marks.calls, &h.marks.lists, &h.marks.notices, &marks.Events, &marks.Bytes,
		&marks.History,
	} {
		mark.Note(10_000_000 + i) // all marks differ
	}
	families, err := h.metrics.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]map[string]float64{}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "mcpd_queue_") {
			continue
		}
		shown[f.GetName()] = map[string]float64{}
		for _, m := range f.GetMetric() {
			shown[f.GetName()][m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
		}
	}
	most, limits, taken := shown["mcpd_queue_high_water"], shown["mcpd_queue_limit"],
		map[float64]string{}
	for _, q := range queueTable {
		got := most[q.name]
		if _, there := most[q.name]; !there || taken[got] != "" || q.name != "events" && got == 0 {
			t.Errorf("%s: %v is no mark of its own, %q has it", q.name, got, taken[got])
		}
		taken[got] = q.name
		if limit, there := limits[q.name]; !there ||
			limit == 0 && !slices.Contains([]string{"answer_bytes", "body_bytes"}, q.name) {
			t.Errorf("%s: bound %v", q.name, limit)
		}
	}
	h.snapshot().Walk(func(n otp.Node) bool {
		if name := "mailbox_" + n.Label; n.Type == otp.WorkerType && limits[name] == 0 {
			t.Errorf("%s has no mark of its mailbox", n.Path)
		}
		return true
	})
}

// The metrics show the reserved bytes of every byte budget, and 0 once they were released.
func TestReservedBytesAreShown(t *testing.T) {
	h := literal(t)
	one, two := &budgets{answers: transport.NewByteBudget(100),
		bodies: transport.NewByteBudget(100)}, &budgets{
		answers: transport.NewByteBudget(100), bodies: transport.NewByteBudget(100),
	}
	h.budgets.Store("one", one)
	h.budgets.Store("two", two)
	want := map[string]int64{"answers": 11, "bodies": 4}
	one.answers.Add(1)
	two.answers.Add(10)
	two.bodies.Add(4)
	for range 2 {
		got := map[string]int64{}
		for budget, bytes := range h.reserved() {
			got[budget] += bytes
		}
		if !maps.Equal(got, want) {
			t.Errorf("reserved are %v, want %v", got, want)
		}
		one.answers.Add(-1)
		two.answers.Add(-10)
		two.bodies.Add(-4)
		want = map[string]int64{"answers": 0, "bodies": 0}
	}
}
