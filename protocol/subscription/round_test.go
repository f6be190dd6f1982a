package subscription

import (
	"math"
	"slices"
	"testing"
)

// The counter that prevents duplicates wraps around after 2^32 rounds. No subscriber may be missed
// then.
func TestMatchSurvivesWrapAround(t *testing.T) {
	var table Table[string]
	table.Subscribe("a", Topic{Method: Any})
	table.round = math.MaxUint32 - 1
	table.slots[0].seen = 1 // left over from the very first round
	for range 3 {
		if got := slices.Collect(table.Match(Topic{Method: "m"})); len(got) != 1 {
			t.Errorf("round %d: got %v", table.round, got)
		}
	}
}
