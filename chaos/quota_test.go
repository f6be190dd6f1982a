package chaos

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// F68, I3: a tenant that calls ten times as often as it may gets what it may, within 5 %. The rest is refused at once, and nobody else notices.
func TestTenantThatCallsTooOftenGetsItsQuota(t *testing.T) {
	t.Parallel()
	// The load must be kept up on a busy machine too: a tenant whose calls come in bursts loses what it
	// may between them.
	const quota, seconds = 20, 10
	a := openWith(t, fmt.Sprintf("limits: {max_rate: %d}", quota), "")
	bystander := a.run(globex, "files__echo", 1_000_000, quota/2)
	bystander.flows(globex, 10)

	r := a.run(acme, "files__echo", 10*quota*seconds, 10*quota).await()
	// Beyond what a second brings, since it has not called before: calls, and the two messages that open a session.
	const atOnce = 2*quota - 2*loadSessions
	if got := (float64(r.Counts.OK) - atOnce) / r.Took.Seconds(); math.Abs(got-quota) > 0.05*quota {
		t.Errorf("acme: %.1f calls a second were answered, want %d: %+v in %v", got, quota, r.Counts, r.Took)
	}
	for text, n := range r.Errors {
		if !strings.HasPrefix(text, "http status 429: ") {
			t.Errorf("acme: %d times %s", n, text)
		}
	}
	a.failed("acme", r, r.Counts.Sent-r.Counts.OK)
	a.clean(globex, bystander.end())
}
