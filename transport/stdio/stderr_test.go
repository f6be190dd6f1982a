package stdio

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

// The tail of standard error does not begin amid a character.
func TestTailBeginsWithACharacter(t *testing.T) {
	for _, text := range []string{"─", "é", "💭", "a"} {
		for cut := range len(text) + 1 {
			s := newStderr(nil, nil, nil, nil)
			s.keep([]byte(strings.Repeat("x", cut) + strings.Repeat(text, tailBytes)))
			if got := string(s.tail()); !strings.HasPrefix(got, text) || len(got) < tailBytes-3 {
				t.Errorf("the tail of %s is %d bytes and begins with %.4q", text, len(got), got)
			}
		}
	}
	s := newStderr(nil, nil, nil, nil)
	s.keep([]byte("\x80\x80 short"))
	if got := string(s.tail()); got != "\x80\x80 short" {
		t.Errorf("a short text became %q", got)
	}
}

// The rest of the output is awaited while the pipe is not empty, even if its reader is slow.
func TestRestOfOutputIsAwaitedFromASlowReader(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	close(exited)
	s := newStderr(r, func([]byte, bool) { time.Sleep(3 * emptyPipeTime) }, func() {}, exited)
	for range 3 {
		w.Write(append(bytes.Repeat([]byte("x"), errorPart-1), '\n'))
	}
	w.WriteString("the end\n")
	go s.drain()
	s.settle() // w is still open, as if a process left behind had it
	if tail := s.tail(); !bytes.HasSuffix(tail, []byte("the end\n")) {
		t.Errorf("the tail is %.40q", tail)
	}
	w.Close()
	<-s.done
}
