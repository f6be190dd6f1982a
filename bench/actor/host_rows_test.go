package actor

import (
	"slices"
	"strings"
	"testing"
)

// Each actor of the host crashes as often as it is asked to, and serves after each crash.
func TestActorsOfAHostServeAfterACrash(t *testing.T) {
	h := &hostRows{}
	for _, name := range append([]string{bareRow}, names()...) {
		got, err := h.answer(name + "\t3")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if n := got.(answer).histogram().TotalCount(); n != 3 {
			t.Errorf("%s: %d times, want 3", name, n)
		}
	}
	for name := range h.victims {
		if name != bareRow && !slices.Contains(names(), name) {
			t.Errorf("nobody asks for %s", name)
		}
	}
	if _, err := h.answer("nobody\t3"); err == nil || !strings.Contains(err.Error(), "no actor") {
		t.Errorf("nobody: %v", err)
	}
}

func names() (list []string) {
	for _, row := range rowLimits {
		list = append(list, row.name)
	}
	return list
}
