package mcptest

import (
	"maps"
	"testing"
)

// The goroutines of a profile are counted by their first functions.
func TestGoroutinesOfAProfile(t *testing.T) {
	got := Goroutines("goroutine profile: total 9\n" +
		"3 @ 0x1 " +
		"0x2\n#\t0x1\tinternal/poll.runtime_pollWait+0x84\t/f:1\n#\t0x2\tmcpd/a.(*B).run+0x1\t/f:2\n\n" +
		"2 @ 0x1 0x2\n#\t0x1\tsync.(*Mutex).Lock+0x84\t/f:1\n#\t0x2\tmcpd/a.(*B).run+0x9\t/f:2\n\n" +
		"1 @ 0x4\n#\t0x4\tmcpd/c.d+0x1\t/f:2\n\n" +
		"3 @ 0x3\n#\t0x3\tnet/http.(*conn).serve+0x1\t/f:3\n")
	if want := map[string]int{"mcpd/a.(*B).run": 5, "mcpd/c.d": 1,
		"net/http.(*conn).serve": 3}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
