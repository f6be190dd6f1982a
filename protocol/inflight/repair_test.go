package inflight

import (
	"testing"
	"time"
)

// What survives a crash is checked before it is used: the sound requests go on, the others are handed back.
func TestRepairKeepsWhatIsSound(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	table := New[int, string](Options{})
	for key := range 6 {
		table.Step(start, Event[int, string]{Op: Register, Key: key, Owner: "o", Timeout: time.Duration(10-key) * time.Second})
	}
	table.timers = table.timers[:2] // the crash came in the midst of a change
	table.entries[1].Key = 7
	table.entries[2].Deadline = time.Time{}
	table.entries[3] = nil
	broken := table.Repair()
	keys := make(map[int]string)
	for _, r := range broken {
		keys[r.Key] = r.Owner
	}
	if len(keys) != 3 || keys[1] != "o" || keys[2] != "o" || keys[3] != "" {
		t.Errorf("got %v", broken)
	}
	var ended []int
	for _, e := range table.Step(start.Add(time.Minute), Event[int, string]{Op: Expire}) {
		if e.Do == Finish {
			ended = append(ended, e.Request.Key)
		}
	}
	if len(ended) != 3 || ended[0] != 5 || ended[1] != 4 || ended[2] != 0 {
		t.Errorf("got %v, want 5 4 0: the sound ones by their deadlines", ended)
	}
}
