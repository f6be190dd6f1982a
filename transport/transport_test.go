package transport

import (
	"errors"
	"io"
	"testing"
)

func TestExitErrorSaysHow(t *testing.T) {
	for _, c := range []struct {
		err  *ExitError
		want string
	}{
		{&ExitError{Cause: "crashed", Code: 3}, "server: crashed, exit code 3"},
		{&ExitError{Cause: "killed", Code: -1, Signal: "SIGKILL", Stderr: []byte("secret")},
			"server: killed by SIGKILL"},
		{&ExitError{Cause: "output", Code: -1, Err: io.ErrUnexpectedEOF},
			"server: output: unexpected EOF"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
		if c.err.Err != nil && !errors.Is(c.err, c.err.Err) {
			t.Errorf("%v does not wrap %v", c.err, c.err.Err)
		}
	}
}
