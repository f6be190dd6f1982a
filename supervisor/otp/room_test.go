package otp

import (
	"fmt"
	"runtime"
	"testing"
)

// The memory for many children is freed with the last of them, and so is the memory for many
// monitors.
func TestRoomOfACrowdIsGivenBack(t *testing.T) {
	const crowd = 50_000
	children, rows := make([]*childRecord, crowd), make([]*row, crowd)
	for i := range crowd {
		rows[i] = &row{id: fmt.Sprint(i)}
		children[i] = &childRecord{id: rows[i].id}
	}
	in := func() uint64 {
		for range 2 {
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	r, top, x := newRoster(0), &row{}, &extras{monitors: map[*row]*monitor{}, hadMany: true}
	for name, do := range map[string][2]func(i int){
		"roster":   {func(i int) { r.add(children[i]) }, func(i int) { r.remove(children[i]) }},
		"row":      {func(i int) { top.add(rows[i], nil) }, func(i int) { top.remove(rows[i]) }},
		"monitors": {func(i int) { x.monitors[rows[i]] = nil }, func(i int) { x.forget(rows[i]) }},
	} {
		before := in()
		for i := range crowd {
			do[0](i)
		}
		full := in()
		for i := range crowd {
			do[1](i)
		}
		if after := in(); full < before+1<<20 || after > before+1<<18 {
			t.Errorf("%s: %d bytes, with a crowd %d, and after it %d", name, before, full, after)
		}
	}
	runtime.KeepAlive(children)
	runtime.KeepAlive(rows)
	runtime.KeepAlive(top)
	runtime.KeepAlive(x)
	if len(r.byID) != 0 {
		t.Errorf("%d are left", len(r.byID))
	}
}
