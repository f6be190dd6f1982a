package streamable

import (
	"net/http"
	"testing"
	"time"
)

// A server that states a retry delay has not executed the request. A proxy that timed out while it
// waited for its server says nothing about execution.
func TestLaterIsWhatSaysWhen(t *testing.T) {
	for _, test := range []struct {
		status int
		after  time.Duration
		later  bool
	}{
		{http.StatusTooManyRequests, 0, true},
		{http.StatusServiceUnavailable, time.Second, true},
		{http.StatusServiceUnavailable, 0, false},
		// The end of the server's connection crossed with the request.
		{http.StatusRequestTimeout, time.Second, true},
		{http.StatusRequestTimeout, 0, false},
		{http.StatusGatewayTimeout, time.Second, false},
	} {
		e := &StatusError{Status: test.status, RetryAfter: test.after}
		if e.RetryLater() != test.later || e.executed() == test.later {
			t.Errorf("%d after %s: later %v, executed %v", test.status, test.after, e.RetryLater(),
				e.executed())
		}
	}
}
