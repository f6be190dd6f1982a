package client

import (
	"runtime"
	"testing"
	weakly "weak"

	"mcpd/actors/request"
)

// A queue that is empty, or whose first calls were taken, keeps nothing of them.
func TestQueueKeepsNothingOfCallsThatWereTaken(t *testing.T) {
	const calls = 10
	c := &carriedState{}
	var taken []weakly.Pointer[request.Exchange]
	for range calls {
		x := &request.Exchange{Params: make([]byte, 1<<20)}
		taken = append(taken, weakly.Make(x))
		c.queue = append(c.queue, x)
	}
	for i := range calls {
		if x := c.pop(); x != taken[i].Value() {
			t.Fatalf("call %d is not the first", i)
		}
		runtime.GC()
		for n, p := range taken {
			if gone := p.Value() == nil; gone != (n <= i) {
				t.Errorf("%d taken: call %d is kept: %t", i+1, n, !gone)
			}
		}
	}
	runtime.KeepAlive(c)
}
