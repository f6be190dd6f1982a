package gateway

import (
	"testing"

	"mcpd/bench/record"
	"mcpd/internal/load"
)

func TestOnlyTheProxyMayFailACallNowAndThen(t *testing.T) {
	for _, test := range []struct {
		name   string
		counts load.Counts
		want   bool
	}{
		{record.Mcpd, load.Counts{Sent: 1000, OK: 1000}, true},
		{record.Mcpd, load.Counts{Sent: 1000, OK: 999, Failed: 1}, false},
		{proxy, load.Counts{Sent: 1000, OK: 990, Failed: 10}, true},
		{proxy, load.Counts{Sent: 1000, OK: 989, Failed: 11}, false},
		{proxy, load.Counts{Sent: 1000, OK: 999, Crosstalk: 1}, false},
		{proxy, load.Counts{Sent: 1000, OK: 999, Lost: 1}, false},
		{proxy, load.Counts{Sent: 1000, OK: 1000, Duplicate: 1}, false},
	} {
		if got := usable(test.name, load.Result{Counts: test.counts}); got != test.want {
			t.Errorf("%s, %+v: %v", test.name, test.counts, got)
		}
	}
}
