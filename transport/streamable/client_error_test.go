package streamable

import (
	"net/http"
	"testing"
	"time"
)

// A server that says when to come back has not executed the request. A proxy that waited for an
// answer of its server says nothing of the kind.
func TestLaterIsWhatSaysWhen(t *testing.T) {
	for _, test := range []struct {
		status int
		after  time.Duration
		later  bool
	}{
		{http.StatusTooManyRequests, 0, true},
		{http.StatusServiceUnavailable, time.Second, true},
		{http.StatusServiceUnavailable, 0, false},
		{http.StatusRequestTimeout, time.Second, true}, // the end of its connection crossed with the request
		{http.StatusRequestTimeout, 0, false},
		{http.StatusGatewayTimeout, time.Second, false},
	} {
		e := &StatusError{Status: test.status, RetryAfter: test.after}
		if e.Later() != test.later || e.executed() == test.later {
			t.Errorf("%d after %s: later %v, executed %v", test.status, test.after, e.Later(), e.executed())
		}
	}
}
