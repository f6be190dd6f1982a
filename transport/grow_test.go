package transport

import (
	"bytes"
	"testing"
)

// However many buffers come back at once, few are kept: the fewer, the less memory there is.
func TestFewBuffersAreKept(t *testing.T) {
	for limit, most := range map[int64]int{1 << 40: mostSpare, 256 << 20: 4 << 20, 1 << 20: 0} {
		s := new(spares)
		for n := range 8 { // of larger ones none is kept anyway
			for range 4 {
				s.put(n, make([]byte, Large<<(n+1))[:0], limit)
			}
		}
		size := 0
		for n := range s.of {
			for range s.of[n] {
				size += Large << (n + 1)
			}
		}
		if size != s.size || size > most || most > 0 && size == 0 {
			t.Errorf("of a limit of %d are kept %d bytes, counted as %d, want %d at most", limit, size, s.size, most)
		}
		for n := range s.of {
			for len(s.of[n]) > 0 {
				s.take(n)
			}
		}
		if s.size != 0 || s.take(0) != nil {
			t.Errorf("%d bytes are left of none", s.size)
		}
	}
}

// A buffer that grows keeps what it holds, at least doubles, and stays within its bound, whether it was somebody's before or not.
func TestGrowKeepsWhatThereIs(t *testing.T) {
	for range 3 { // the first round makes the buffers that the next ones find
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
		Recycle(bytes.Repeat([]byte("b"), 3*most)) // larger than is ever asked for
		Recycle(buf)
	}
}
