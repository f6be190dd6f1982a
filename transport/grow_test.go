package transport

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"
)

// However many buffers come back at once, few are kept in all: the less memory, the fewer. A buffer
// that the collector takes makes space for another.
func TestFewBuffersAreKept(t *testing.T) {
	for memory, most := range map[int64]int64{1 << 40: maxSpare, 256 << 20: 8 << 20, 1 << 20: 0} {
		p := newPool()
		burst := func() {
			defer debug.SetGCPercent(debug.SetGCPercent(-1))
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					for n := range 5 {
						for range 4 {
							p.put(n, make([]byte, 0, Large<<(n+1)), memory)
						}
					}
				})
			}
			all.Wait()
		}
		burst()
		if size := p.size.Load(); size > most || most > 0 && size == 0 {
			t.Errorf("of a memory of %d are kept %d bytes, want %d at most", memory, size, most)
		}
		for end := time.Now().Add(10 * time.Second); p.size.Load() > 0; time.Sleep(time.Millisecond) {
			if runtime.GC(); time.Now().After(end) {
				t.Fatalf("%d bytes count that the collector has taken", p.size.Load())
			}
		}
		if burst(); most > 0 && p.size.Load() == 0 {
			t.Error("none are kept any more")
		}
		for n := range 8 {
			for p.take(n) != nil {
			}
		}
	}
}

// All kept buffers are counted: the heap is larger by no more than the count.
func TestKeptBuffersCount(t *testing.T) {
	p := newPool()
	live := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	before := live()
	const memory, made = 256 << 20, 128
	for range made {
		p.put(3, make([]byte, Large<<4), memory)
	}
	runtime.GC() // the pool outlives one collection
	if kept := live() - before; kept > MaxSpare(memory)+1<<20 {
		t.Errorf("%d MiB are kept of %d, want %d at most", kept>>20, made*Large<<4>>20,
			MaxSpare(memory)>>20)
	}
	runtime.KeepAlive(p)
}

// A buffer that grows keeps its contents, at least doubles, and stays within its bound, whether it
// is new or reused.
func TestGrowKeepsWhatThereIs(t *testing.T) {
	for range 3 { // the first round makes the buffers that the next ones reuse
		const most = 5*Large + 1
		buf := bytes.Repeat([]byte("a"), 1<<10)
		for len(buf) < most {
			had := len(buf)
			buf = Grow(buf, most)
			if len(buf) < min(2*had, most) || len(buf) > most || bytes.Count(buf[:had], []byte("a")) != had {
				t.Fatalf("%d bytes have become %d, of %d at most", had, len(buf), most)
			}
			for i := had; i < len(buf); i++ {
				buf[i] = 'a'
			}
		}
		Recycle(bytes.Repeat([]byte("b"), 3*most)) // larger than any buffer that is asked for
		Recycle(buf)
	}
}
