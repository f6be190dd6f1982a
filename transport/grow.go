package transport

import (
	"math/bits"
	"runtime/debug"
	"sync"
)

// spares are buffers in which large messages were read, for the next one of anybody. To make such
// a buffer, to fill it with zeros and to get it from the kernel page by page costs more than to
// copy a message out of it.
type spares struct {
	size int // bytes of all of them
	// of has those of one size each, twice that of the ones before: a larger buffer than was asked for
	// would be memory that no Room counts.
	of [12][][]byte
}

// grown has spares for each processor. The collector takes those that nobody needs.
var grown = sync.Pool{New: func() any { return new(spares) }}

// mostSpare is how many bytes of spares a processor has at most, and spareShare the part of the
// memory that they are in any case: no Room counts them, and a burst of large messages leaves
// many.
const (
	mostSpare  = 16 << 20
	spareShare = 64
)

func (s *spares) take(n int) (buf []byte) {
	if last := len(s.of[n]) - 1; last >= 0 {
		buf = s.of[n][last]
		s.of[n][last] = nil
		s.of[n] = s.of[n][:last]
		s.size -= cap(buf)
	}
	return buf
}

func (s *spares) put(n int, buf []byte, limit int64) {
	if int64(s.size+cap(buf)) <= min(mostSpare, limit/spareShare) {
		s.of[n] = append(s.of[n], buf)
		s.size += cap(buf)
	}
}

// class is the index of the pool of buffers of so many bytes; false when there is none.
func class(size int) (int, bool) {
	n := bits.Len(uint(size/Large)) - 2 // 0 for twice Large
	return n, 0 <= n && n < len(spares{}.of) && size == Large<<(n+1)
}

// Grow is a buffer of twice the size of one that is full, and of most bytes at most, which begins with what that holds. The full one must
// not be used any more.
func Grow(full []byte, most int) []byte {
	want := min(2*len(full), most)
	var larger []byte
	if n, ok := class(want); ok {
		s := grown.Get().(*spares)
		larger = s.take(n)
		grown.Put(s)
	}
	if larger == nil {
		larger = make([]byte, want)
	}
	larger = larger[:want]
	copy(larger, full)
	Recycle(full)
	return larger
}

// Recycle gives back a buffer that Grow has made, once nothing refers to it any more. One of another size is left to the collector.
func Recycle(buf []byte) {
	if n, ok := class(cap(buf)); ok {
		s := grown.Get().(*spares)
		s.put(n, buf, debug.SetMemoryLimit(-1))
		grown.Put(s)
	}
}
