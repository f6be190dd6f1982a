package memory

import "runtime/metrics"

// Use is the memory that the process uses.
type Use struct {
	// Bytes is what would remain after a garbage collection: the bytes that the last collection found
	// alive, and memory outside the heap. Bytes allocated since count with the next collection, which
	// comes before the memory is full.
	Bytes uint64
	// Live is the part of Bytes on the heap that the last collection found alive.
	Live uint64
	// Collections is the number of collections so far. It tells one measurement of Bytes from the
	// next.
	Collections uint64
}

// The indexes of the runtime's figures: all mapped memory, and those that tell which part of it is
// not in use.
const (
	total = iota
	released
	free
	objects
	live
	cycles
)

// Measured returns a function that measures this process. It stops nothing and takes microseconds.
// It is for one goroutine at a time.
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
