package transport

import (
	"math/bits"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// spareBuffers holds emptied buffers of large messages, for reuse by any reader. To allocate such a
// buffer, to zero it and to get it from the kernel page by page costs more than to copy a message
// out of it.
type spareBuffers struct {
	size *atomic.Int64 // bytes of all its buffers
	// of holds the buffers by size; each size is twice the one before. A reader never gets a larger
	// buffer than it asked for: no ByteBudget would count the difference.
	of [12][][]byte
}

// pool has spareBuffers for each processor. The garbage collector takes those that are not used.
type pool struct {
	sync.Pool
	size atomic.Int64 // bytes of all spareBuffers that the collector has not taken
}

func newPool() *pool {
	p := new(pool)
	p.New = func() any {
		s := &spareBuffers{size: new(atomic.Int64)}
		runtime.AddCleanup(s, func(size *atomic.Int64) { p.size.Add(-size.Load()) }, s.size)
		return s
	}
	return p
}

var grown = newPool()

// maxSpare and spareShare bound the spare buffers: in bytes, and to one part in spareShare of the
// memory. No ByteBudget counts spare buffers, and a burst of large messages leaves many.
const (
	maxSpare   = 32 << 20
	spareShare = 32
)

// MaxSpare returns how many bytes of emptied buffers are kept for later messages, given the bytes
// of memory.
func MaxSpare(memory int64) int64 { return min(maxSpare, memory/spareShare) }

func (p *pool) take(n int) (buf []byte) {
	s := p.Get().(*spareBuffers)
	if last := len(s.of[n]) - 1; last >= 0 {
		buf = s.of[n][last]
		s.of[n][last] = nil
		s.of[n] = s.of[n][:last]
		s.size.Add(-int64(cap(buf)))
		p.size.Add(-int64(cap(buf)))
	}
	p.Put(s)
	return buf
}

func (p *pool) put(n int, buf []byte, memory int64) {
	size := int64(cap(buf))
	if p.size.Add(size) > MaxSpare(memory) {
		p.size.Add(-size)
		return
	}
	s := p.Get().(*spareBuffers)
	s.of[n] = append(s.of[n], buf)
	s.size.Add(size)
	p.Put(s)
}

// class returns the index of the buffers of this size; false when that size is not kept.
func class(size int) (int, bool) {
	n := bits.Len(uint(size/Large)) - 2 // 0 for twice Large
	return n, 0 <= n && n < len(spareBuffers{}.of) && size == Large<<(n+1)
}

// Grow returns a buffer of twice the size of full, but of most bytes at most, which begins with the
// contents of full. The caller must not use full any more.
func Grow(full []byte, most int) []byte {
	want := min(2*len(full), most)
	var larger []byte
	if n, ok := class(want); ok {
		larger = grown.take(n)
	}
	if larger == nil {
		larger = make([]byte, want)
	}
	larger = larger[:want]
	copy(larger, full)
	Recycle(full)
	return larger
}

// Recycle gives back a buffer that Grow has made, once nothing refers to it any more. A buffer of
// another size is left to the garbage collector.
func Recycle(buf []byte) {
	if n, ok := class(cap(buf)); ok {
		grown.put(n, buf, debug.SetMemoryLimit(-1))
	}
}
