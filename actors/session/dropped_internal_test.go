package session

import (
	"slices"
	"testing"

	"mcpd/telemetry"
)

// The log has one line for each reason why stored records are of no use, however many sessions they
// belong to.
func TestUselessRecordsAreSummed(t *testing.T) {
	var u droppedRecords
	u.add("a", "event", "gone")
	u.add("b", "event", "gone")
	u.add("c", "event", "gone")
	u.add("d", "session", "gone")
	dropped := func(session, kind string, count uint32) telemetry.RecordDropped {
		return telemetry.RecordDropped{
			Where: telemetry.Where{Session: session, Path: "p"}, Kind: kind, Reason: "gone", Count: count,
		}
	}
	if got, want := u.events("p"), []telemetry.RecordDropped{dropped("", "event", 3),
		dropped("d", "session", 1)}; !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if again := u.events("p"); len(again) != 0 {
		t.Errorf("told again: %+v", again)
	}
}

// The end of a session by its client, or after its time, is routine.
func TestClosedSessionIsNewsOnlyForACause(t *testing.T) {
	for cause, routine := range map[telemetry.Closing]bool{
		telemetry.ClosedByClient: true, telemetry.ClosedIdle: true, telemetry.ClosedEvicted: false,
		telemetry.ClosedCrashed: false,
	} {
		if got := (&Handle{}).closedAt(cause).Routine; got != routine {
			t.Errorf("%s: routine %t", cause.Phrase(), got)
		}
	}
}
