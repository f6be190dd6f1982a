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
		first, second func(calls *inflightRequests, f *inflightRequest) bool
	}{
		"the connection's": {(*inflightRequests).routeViaActor, (*inflightRequests).takePlain},
		"the reader's":     {(*inflightRequests).takePlain, (*inflightRequests).routeViaActor},
		"taken once":       {(*inflightRequests).takePlain, (*inflightRequests).takePlain},
	} {
		calls, f := newInflightRequests(), &inflightRequest{x: x}
		calls.put(jsonrpc.IntID(1), f)
		if calls.of(x.ID) != f {
			t.Errorf("%s: not found", name)
		}
		if first, second := tt.first(calls, f), tt.second(calls, f); !first || second {
			t.Errorf("%s: %t and %t", name, first, second)
		}
	}
}
