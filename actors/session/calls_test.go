package session

import (
	"testing"

	"mcpd/actors/request"
)

// Calls cost a session no memory, however many there are.
func TestCallsTakeNoMemory(t *testing.T) {
	var c Calls
	x := &request.Exchange{ID: 1}
	if n := testing.AllocsPerRun(100, func() {
		c.Add(x)
		c.all.Remove(x)
	}); n != 0 {
		t.Errorf("%v allocations for a call", n)
	}
}

func TestACallIsCancelledOnce(t *testing.T) {
	var c Calls
	x := &request.Exchange{ID: 1}
	c.Add(x)
	if c.Cancel(2) || !c.Cancel(1) || c.Cancel(1) {
		t.Error("a call that is there is to be cancelled by the first who does")
	}
	if c.all.Remove(x); c.Has(1) || c.Cancel(1) {
		t.Error("a call that has ended is there")
	}
}
