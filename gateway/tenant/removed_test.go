package tenant

import (
	"fmt"
	"slices"
	"testing"
)

// Servers that reloads have removed are remembered, the last first, until they come back or there
// are too many.
func TestRemovedServersAreRemembered(t *testing.T) {
	with := func(names ...string) (list []Server) {
		for _, name := range names {
			list = append(list, Server{Name: name})
		}
		return list
	}
	before := &Tenant{}
	for _, step := range []struct{ servers, removed []string }{
		{[]string{"a", "b", "c"}, nil},
		{[]string{"a", "c"}, []string{"b"}},
		{[]string{"a"}, []string{"c", "b"}},
		{[]string{"a", "b"}, []string{"c"}},
	} {
		now := &Tenant{Servers: with(step.servers...)}
		if now.Removed = now.RemovedSince(before); !slices.Equal(now.Removed, step.removed) {
			t.Errorf("%v: removed %v, want %v", step.servers, now.Removed, step.removed)
		}
		before = now
	}
	if !before.WasRemoved("c") || before.WasRemoved("a") || before.WasRemoved("never") {
		t.Errorf("removed: %v", before.Removed)
	}
	var many []string
	for i := range 2 * MaxRemoved {
		many = append(many, fmt.Sprint("s", i))
	}
	next := &Tenant{}
	if got := next.RemovedSince(&Tenant{Servers: with(many...)}); len(got) != MaxRemoved {
		t.Errorf("remembers %d, want %d", len(got), MaxRemoved)
	}
	if got := next.RemovedSince(nil); got != nil {
		t.Errorf("of a new tenant: %v", got)
	}
}
