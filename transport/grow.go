package transport

import "sync"

// grown are buffers in which large messages were read, for the next one of anybody. To make such a buffer, to fill it with zeros and to get it from the
// kernel page by page costs more than to copy a message out of it. The collector takes those that nobody needs.
var grown = sync.Pool{New: func() any { return new([]byte) }}

// Grow is a buffer of at least twice the size of one that is full, and of most bytes at most, which begins with what that holds. The full one must
// not be used any more.
func Grow(full []byte, most int) []byte {
	want := min(2*len(full), most)
	var larger []byte
	if want > Large {
		if kept := grown.Get().(*[]byte); cap(*kept) >= want {
			larger = (*kept)[:min(cap(*kept), most)]
		}
	}
	if larger == nil {
		larger = make([]byte, want)
	}
	copy(larger, full)
	Recycle(full)
	return larger
}

// Recycle gives back a buffer that Grow has made, once nothing refers to it any more. One that is not large is left to the collector.
func Recycle(buf []byte) {
	if cap(buf) > Large {
		grown.Put(&buf)
	}
}
