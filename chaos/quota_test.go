package chaos

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// F68, I3: a tenant that calls ten times as often as allowed gets its quota, within 5 %. The other
// calls are refused at once, and no other tenant is affected.
func TestTenantThatCallsTooOftenGetsItsQuota(t *testing.T) {
	t.Parallel()
	// The load must be steady on a busy machine too: a tenant whose calls come in bursts loses its
	// quota between the bursts.
	const quota, seconds = 20, 10
	a := openWith(t, fmt.Sprintf("limits: {max_rate: %d}", quota), "")
	bystander := a.run(globex, "files__echo", 1_000_000, quota/2)
	bystander.flows(globex, 10)

	r := a.run(acme, "files__echo", 10*quota*seconds, 10*quota).await()
	// The initial allowance, beyond the rate: the tenant has not called before. It pays for calls, and
	// for the two messages that open each session.
	const atOnce = 2*quota - 2*loadSessions
	if got := (float64(r.Counts.OK) - atOnce) / r.Took.Seconds(); math.Abs(got-quota) > 0.05*quota {
		t.Errorf("acme: %.1f calls a second were answered, want %d: %+v in %v", got, quota,
			r.Counts, r.Took)
	}
	for text, n := range r.Errors {
		if !strings.HasPrefix(text, "http status 429: ") {
			t.Errorf("acme: %d times %s", n, text)
		}
	}
	a.failed("acme", r, r.Counts.Sent-r.Counts.OK)
	a.clean(globex, bystander.end())
}
