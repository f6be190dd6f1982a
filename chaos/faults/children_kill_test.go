package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// spawning is a host that replaces each ended process of first by the process of next with the same
// index, if next has it.
type spawning struct {
	*operator
	first, next []int
}

func (o *spawning) Tree(context.Context) (Tree, error) {
	tree := Tree{{Path: "mcpd/tenants/acme"}}
	for i, pid := range o.first {
		state := "ready"
		if !processOf(pid).runs() {
			if pid = 0; i < len(o.next) {
				pid = o.next[i]
			} else {
				state = "starting"
			}
		}
		row := ServerPath("acme", fmt.Sprint("s", i))
		tree = append(tree, Row{Path: row}, Row{Path: row + "/a/connection", PID: pid, State: state})
	}
	return tree, nil
}

func programs(t *testing.T, n int) (pids []int) {
	for range n {
		pids = append(pids, program(t, "echo; exec sleep 60"))
	}
	return pids
}

// The kind kills all processes of a tenant and measures when all are replaced.
func TestAllChildrenAreKilledAtOnce(t *testing.T) {
	t.Parallel()
	o := &spawning{&operator{}, programs(t, 3), programs(t, 3)}
	s := site(childrenKill, o.operator, nil)
	s.Host = o
	in, err := childrenKill.Inject(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := in.Heal(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if n, err := in.Hits(t.Context()); n != 3 || err != nil ||
		slices.ContainsFunc(o.first, func(pid int) bool {
			return processOf(pid).runs()
		}) {
		t.Errorf("%d hits, %v, at %s", n, err, in.Target)
	}
	found := in.Figures()
	if starts := found["peak_starts"]; len(starts) != 1 || starts[0] < 1 || starts[0] > 3 ||
		len(found["all_back_ms"]) != 1 || len(found["beyond_ms"]) != 1 {
		t.Error(found)
	}
}

// Heal reports the servers that were not replaced.
func TestChildrenThatAreNotBackAreTold(t *testing.T) {
	t.Parallel()
	o := &spawning{&operator{}, programs(t, 2), programs(t, 1)}
	s := site(childrenKill, o.operator, nil)
	s.Host = o
	in, err := childrenKill.Inject(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := in.Heal(ctx); err == nil ||
		!strings.Contains(err.Error(), "1 of 2 servers are not back") {
		t.Error(err)
	}
	if len(in.Figures()) != 0 {
		t.Error(in.Figures())
	}
}

// Processes that do not descend from the host are not servers and must not be killed.
func TestForeignChildrenAreLeftAlone(t *testing.T) {
	t.Parallel()
	o := &spawning{&operator{}, programs(t, 1), nil}
	s := site(childrenKill, o.operator, nil)
	s.Host, s.PID = o, programs(t, 1)[0]
	if _, err := childrenKill.Inject(t.Context(), s); !errors.Is(err, ErrNoChild) ||
		!processOf(o.first[0]).runs() {
		t.Error(err)
	}
}

func TestBusiest(t *testing.T) {
	for _, c := range []struct {
		at   []int
		want int
	}{
		{nil, 0}, {[]int{5}, 1}, {[]int{200, 0, 100}, 1}, {[]int{0, 99, 100, 198}, 3},
		{[]int{7, 7, 7}, 3},
	} {
		if got := busiest(c.at, 100); got != c.want {
			t.Errorf("of %v %d within a second, want %d", c.at, got, c.want)
		}
	}
}
