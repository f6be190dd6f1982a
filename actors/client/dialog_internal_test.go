package client

import (
	"testing"
	"time"
)

// A question is given up when its client is gone, or could have come back and has not.
func TestAbandonedQuestions(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	const wait = 30 * time.Second
	for name, tt := range map[string]struct {
		d    dialog
		want string
	}{
		"a client with a stream":           {dialog{since: now.Add(-time.Hour)}, ""},
		"a client that opens it anew":      {dialog{since: now.Add(-time.Hour), away: GoneAfter - 1}, ""},
		"a client that is gone":            {dialog{since: now.Add(-time.Second), away: GoneAfter}, "its client is gone"},
		"a modern client":                  {dialog{since: now.Add(1 - wait), modern: true}, ""},
		"a modern client without a stream": {dialog{since: now.Add(1 - wait), away: GoneAfter, modern: true}, ""},
		"a modern client that is silent":   {dialog{since: now.Add(-wait), modern: true}, "its client has not come back for 30s"},
	} {
		if got := tt.d.abandoned(now, wait); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
