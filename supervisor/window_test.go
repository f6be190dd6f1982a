package supervisor

import (
	"testing"

	"mcpd/transport/streamable"
)

// The less memory there is, the less of an unread answer is accepted over HTTP/2.
func TestWindowFollowsTheMemory(t *testing.T) {
	for memory, want := range map[uint64]int{
		0: streamable.MaxWindow, 128 << 20: streamable.MinWindow, 1 << 30: 256 << 10,
		64 << 30: streamable.MaxWindow,
	} {
		h := &host{options: Options{Memory: memory}}
		if got := h.window(); got != want {
			t.Errorf("of %d: %d, want %d", memory, got, want)
		}
	}
}
