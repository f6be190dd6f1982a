package stdio

import (
	"strings"
	"testing"
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
