package client

import (
	"testing"

	"mcpd/actors/request"
	"mcpd/protocol/jsonrpc"
)

// Either the connection or the reader of the server's messages takes out a call, whichever comes
// first.
func TestFlightIsOneOnes(t *testing.T) {
	x := &request.Exchange{ID: 7}
	for name, tt := range map[string]struct {
		first, second func(calls *flights, f *flight) bool
	}{
		"the connection's": {(*flights).lengthen, (*flights).takePlain},
		"the reader's":     {(*flights).takePlain, (*flights).lengthen},
		"taken once":       {(*flights).takePlain, (*flights).takePlain},
	} {
		calls, f := newFlights(), &flight{x: x}
		calls.put(jsonrpc.IntID(1), f)
		if calls.of(x.ID) != f {
			t.Errorf("%s: not found", name)
		}
		if first, second := tt.first(calls, f), tt.second(calls, f); !first || second {
			t.Errorf("%s: %t and %t", name, first, second)
		}
	}
}
