package supervisor

import (
	"context"
	"errors"
	"testing"

	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// A client that gets no session learns which part of the host is missing, and when to come back.
func TestUnopenedSaysWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{otp.ErrNoProc, "the host's session manager is being started"},
		{otp.ErrOverloaded, "the host's session manager is overloaded"},
		{otp.ErrOriginRefused, "tenant acme is paused"},
	} {
		var told *protocol.Error
		if err := sessionError("acme", c.err); !errors.As(err, &told) || told.Message != c.want ||
			told.RetryAfter != second {
			t.Errorf("%v: got %v, want %s", c.err, err, c.want)
		}
	}
	if err := sessionError("acme", context.Canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("what is no refusal: got %v", err)
	}
}
