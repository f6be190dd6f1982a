package supervisor

import (
	"iter"

	"mcpd/actors/client"
)

// knownOf returns what the connections to a server share about it, for one revision of its
// declaration.
func (h *host) knownOf(name serverName, revision uint32) *client.SharedServerState {
	return h.known.of(
		h.now, name, revision,
		func(one, other uint32) bool { return one < other },
		func() *client.SharedServerState { return &client.SharedServerState{} },
	)
}

// allRecords yields how many records the host keeps besides those of its rows.
func (h *host) allRecords() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for kind, n := range h.knownRecords() {
			if !yield(kind, n) {
				return
			}
		}
		if handler := h.front.Load(); handler != nil {
			yield("browser_streams", handler.BrowserStreams())
		}
	}
}

// knownRecords yields how many records all values of client.SharedServerState hold, by kind.
func (h *host) knownRecords() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for _, known := range h.known.values() {
			more := true
			known.Records(func(kind string, n int) bool {
				more = more && yield(kind, n)
				return more
			})
			if !more {
				return
			}
		}
	}
}
