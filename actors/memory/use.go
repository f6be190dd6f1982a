package memory

import "runtime/metrics"

// Use is what the process holds of its memory.
type Use struct {
	// Bytes is what would be left were the garbage collected: it counts what the last collection found alive and what is no heap. What was
	// allocated since counts with the next collection, which comes before the memory is full.
	Bytes uint64
	// Live is what of it is the heap that the last collection found alive.
	Live uint64
	// Collections tells one measurement of Bytes from the next.
	Collections uint64
}

// The runtime's own figures: all that is mapped, and what of it is no loss.
const (
	total = iota
	released
	free
	objects
	live
	cycles
)

// Measured is the Use of this process. Reading it stops nothing and takes microseconds. It is for one goroutine at a time.
func Measured() func() Use {
	figures := []metrics.Sample{
		total:    {Name: "/memory/classes/total:bytes"},
		released: {Name: "/memory/classes/heap/released:bytes"},
		free:     {Name: "/memory/classes/heap/free:bytes"},
		objects:  {Name: "/memory/classes/heap/objects:bytes"},
		live:     {Name: "/gc/heap/live:bytes"},
		cycles:   {Name: "/gc/cycles/total:gc-cycles"},
	}
	return func() Use {
		metrics.Read(figures)
		of := func(i int) uint64 { return figures[i].Value.Uint64() }
		garbage := of(objects) - min(of(objects), of(live))
		return Use{of(total) - of(released) - of(free) - garbage, of(live), of(cycles)}
	}
}
