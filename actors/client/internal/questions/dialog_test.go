package questions

import (
	"testing"
	"time"
)

// A question is given up when its client is gone, or could have come back and has not.
func TestAbandonedQuestions(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	const wait = 30 * time.Second
	for name, tt := range map[string]struct {
		d    Dialog
		want string
	}{
		"a client with a stream":      {Dialog{Since: now.Add(-time.Hour)}, ""},
		"a client that opens it anew": {Dialog{Since: now.Add(-time.Hour), Away: GoneAfter - 1}, ""},
		"a client that is gone": {Dialog{Since: now.Add(-time.Second), Away: GoneAfter},
			"its client is gone"},
		"a modern client": {Dialog{Since: now.Add(1 - wait), Modern: true}, ""},
		"a modern client without a stream": {Dialog{Since: now.Add(1 - wait), Away: GoneAfter,
			Modern: true}, ""},
		"a modern client that is silent": {Dialog{Since: now.Add(-wait), Modern: true},
			"its client has not come back for 30s"},
	} {
		if got := tt.d.Abandoned(now, wait); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
