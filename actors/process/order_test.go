package process

import (
	"slices"
	"testing"

	"mcpd/transport"
	"mcpd/transport/stdio"
)

// The manager iterates over its children, starts and releases in the order of their age.
func TestRowsAreVisitedInOrder(t *testing.T) {
	k := &carriedState{
		children: map[*stdio.Child]*child{}, starts: map[*starting]bool{},
		releases: map[transport.Upstream]closing{},
	}
	type closer struct {
		transport.Upstream
		_ int // makes every address different
	}
	for range 64 {
		key := &stdio.Child{}
		k.children[key] = &child{Child: key, number: k.number()}
		k.starts[&starting{number: k.number()}] = true
		k.releases[&closer{}] = closing{number: k.number()}
	}
	var children, starts, releases []uint64
	for _, c := range k.running() {
		children = append(children, c.number)
	}
	for s := range k.begun() {
		starts = append(starts, s.number)
	}
	for _, c := range k.closing() {
		releases = append(releases, c.number)
	}
	for name, numbers := range map[string][]uint64{"children": children, "starts": starts,
		"releases": releases} {
		if len(numbers) != 64 || !slices.IsSorted(numbers) {
			t.Errorf("%s: %v", name, numbers)
		}
	}
}
