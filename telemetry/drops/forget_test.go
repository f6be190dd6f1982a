package drops

import (
	"strconv"
	"testing"
	"time"

	"mcpd/telemetry"
)

// A Tally forgets servers of which nothing was dropped for a while, however many there were.
func TestTallyForgetsWhoIsQuiet(t *testing.T) {
	var tally Tally
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 100 {
		now = now.Add(Every / 10)
		Drop(&tally, telemetry.NotificationDropped{Where: telemetry.Where{Server: strconv.Itoa(i)},
			Reason: "queue_full", Count: 1}, now)
		if len(tally.sums) > 10 {
			t.Fatalf("after %d servers with ten a second %d are kept", i+1, len(tally.sums))
		}
	}
}
