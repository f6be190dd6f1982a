package subscription

import (
	"fmt"
	"runtime"
	"testing"
)

// The table frees the memory of many subscribers with the last of them, and is as good as new.
func TestTableGivesBackWhatACrowdTook(t *testing.T) {
	var table Table[string]
	in := func() uint64 {
		for range 2 {
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	topic := func(i int) Topic { return Topic{Method: fmt.Sprint("method", i)} }
	const crowd = 20_000
	before := in()
	for i := range crowd {
		table.Subscribe(fmt.Sprint(i), topic(i))
	}
	full := in()
	for i := range crowd {
		if was, last := table.Unsubscribe(fmt.Sprint(i), topic(i)); !was || !last {
			t.Fatalf("subscriber %d: %v, %v", i, was, last)
		}
	}
	if after := in(); full < before+1<<20 || after > before+1<<18 {
		t.Errorf("%d bytes, with a crowd %d, and after it %d", before, full, after)
	}
	if first := table.Subscribe("again", topic(1)); !first || len(table.Topics("again")) != 1 {
		t.Error("a table that was emptied takes nobody")
	}
}
