package transport

import (
	"math/bits"
	"sync"
)

// grown are buffers in which large messages were read, for the next one of anybody. To make such a buffer, to fill it with zeros and to get it from the
// kernel page by page costs more than to copy a message out of it. The collector takes those that nobody needs.
// Each pool has one size, twice that of the pool before: a larger buffer than was asked for would be
// memory that no Room counts.
var grown [12]sync.Pool

// class is the index of the pool of buffers of so many bytes; false when there is none.
func class(size int) (int, bool) {
	n := bits.Len(uint(size/Large)) - 2 // 0 for twice Large
	return n, 0 <= n && n < len(grown) && size == Large<<(n+1)
}

// Grow is a buffer of twice the size of one that is full, and of most bytes at most, which begins with what that holds. The full one must
// not be used any more.
func Grow(full []byte, most int) []byte {
	want := min(2*len(full), most)
	var larger []byte
	if n, ok := class(want); ok {
		if kept, ok := grown[n].Get().(*[]byte); ok {
			larger = (*kept)[:want]
		}
	}
	if larger == nil {
		larger = make([]byte, want)
	}
	copy(larger, full)
	Recycle(full)
	return larger
}

// Recycle gives back a buffer that Grow has made, once nothing refers to it any more. One of another size is left to the collector.
func Recycle(buf []byte) {
	if n, ok := class(cap(buf)); ok {
		grown[n].Put(&buf)
	}
}
