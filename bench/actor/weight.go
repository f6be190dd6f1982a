package actor

import (
	"runtime"
	"syscall"
	"time"

	"mcpd/supervisor/otp"
)

// idle returns the heap and stack memory of one of many idle actors below one supervisor.
func idle(actors int) (answer, error) {
	g, err := newTestSystem(otp.Options{}, poolOf(), nil)
	if err != nil {
		return answer{}, err
	}
	defer g.close()
	const warm = 1000 // excludes one-time allocations from the average
	if err := fill(g, 0, warm); err != nil {
		return answer{}, err
	}
	before := used()
	if err := fill(g, warm, actors); err != nil {
		return answer{}, err
	}
	after := used()
	ctx, cancel := bounded()
	defer cancel()
	return answer{Bytes: (after - before) / float64(actors)}, ping(ctx, g.at("0"))
}

func used() float64 {
	for range 3 { // stacks shrink by half with each
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// watched returns the cost of the watch for hanging actors, while one of many actors works a little
// all the time and the others are idle.
func watched(actors int, last time.Duration) (answer, error) {
	g, err := newTestSystem(otp.Options{}, poolOf(), nil)
	if err != nil {
		return answer{}, err
	}
	defer g.close()
	if err := fill(g, 0, actors); err != nil {
		return answer{}, err
	}
	used()
	ctx, cancel := bounded()
	defer cancel()
	one := g.at("0")
	begin, before := time.Now(), processor()
	for time.Since(begin) < last {
		if err := ping(ctx, one); err != nil {
			return answer{}, err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return answer{Share: (processor() - before).Seconds() / time.Since(begin).Seconds()}, nil
}

// processor returns the CPU time of this process.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails only for a bad argument
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
