package kit

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
)

// collect asks a process to collect garbage before it answers.
const collect = "collect"

// Usage is what a process has used.
type Usage struct {
	URL    string  `json:"url,omitzero"`
	RSS    float64 `json:"rss"`    // bytes resident; 0 where the system does not report it
	Heap   float64 `json:"heap"`   // bytes allocated and not freed
	Stacks float64 `json:"stacks"` // bytes of goroutine stacks
	CPU    float64 `json:"cpu"`    // seconds, user and system

	// Objects and Allocated count everything that was put on the heap, also if it was freed since.
	Objects   float64 `json:"objects"`
	Allocated float64 `json:"allocated"` // bytes
}

// InUse returns the bytes that a process has allocated: its heap and its stacks.
func (u Usage) InUse() float64 { return u.Heap + u.Stacks }

// Minus returns the usage since an earlier measurement, divided by each.
func (u Usage) Minus(before Usage, each float64) Usage {
	return Usage{
		RSS: (u.RSS - before.RSS) / each, Heap: (u.Heap - before.Heap) / each,
		Stacks: (u.Stacks - before.Stacks) / each,
		CPU:    (u.CPU - before.CPU) / each, Objects: (u.Objects - before.Objects) / each,
		Allocated: (u.Allocated - before.Allocated) / each,
	}
}

// measure returns the usage of this process. Stacks shrink by half with each collection, so that
// several collections are needed.
func measure(collected bool) Usage {
	if collected {
		for range 4 {
			runtime.GC()
		}
		debug.FreeOSMemory()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r) // fails only for a bad argument
	return Usage{
		RSS: resident(), Heap: float64(m.HeapAlloc), Stacks: float64(m.StackInuse),
		CPU: float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9, Objects: float64(m.Mallocs),
		Allocated: float64(m.TotalAlloc),
	}
}

// resident returns the resident memory of this process in bytes, or 0 if it is unknown.
func resident() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseFloat(string(fields[1]), 64) // 0 means unknown
	return pages * float64(os.Getpagesize())
}
