package transport

import (
	"bytes"
	"testing"
)

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
