package session

import (
	"testing"

	"mcpd/actors/request"
)

// One call after the other costs a session no memory, and what many at once took is given back with the last of them.
func TestCallsKeepRoomForAFew(t *testing.T) {
	var c Calls
	x := &request.Exchange{ID: 1}
	if n := testing.AllocsPerRun(100, func() {
		c.Add(x)
		c.remove(x.ID)
	}); n != 0 {
		t.Errorf("%v allocations for a call", n)
	}
	for id := range uint64(fewCalls + 1) {
		c.Add(&request.Exchange{ID: id})
	}
	for id := range uint64(fewCalls + 1) {
		if c.all == nil {
			t.Fatalf("nothing is kept of %d calls", fewCalls+1-id)
		}
		c.remove(id)
	}
	if c.all != nil {
		t.Error("what a crowd took is kept")
	}
}

func TestACallIsCancelledOnce(t *testing.T) {
	var c Calls
	c.Add(&request.Exchange{ID: 1})
	if c.Cancel(2) || !c.Cancel(1) || c.Cancel(1) {
		t.Error("a call that is there is to be cancelled by the first who does")
	}
	if c.remove(1); c.Has(1) || c.Cancel(1) {
		t.Error("a call that has ended is there")
	}
}
