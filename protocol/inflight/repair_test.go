package inflight

import (
	"testing"
	"time"
)

// What survives a crash is checked before it is used: the sound requests go on, the others are handed back.
func TestRepairKeepsWhatIsSound(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	table := New[int, string](Options{})
	for key := range 8 {
		table.Step(start, Event[int, string]{Op: Register, Key: key, Owner: "o", Timeout: time.Duration(10-key) * time.Second})
	}
	table.timers = table.timers[:2] // the crash came in the midst of a change
	table.entries[1].Key = 9
	table.entries[2].Deadline = time.Time{}
	table.entries[3] = nil
	table.entries[4].Deadline = start.Add(time.Hour)
	broken, n := table.Repair(func(key int, _ string) bool { return key != 5 })
	keys := make(map[int]string)
	for _, e := range broken {
		if e.Do != Finish || e.Outcome != Lost {
			t.Errorf("got %+v, want an end", e)
		}
		keys[e.Request.Key] = e.Request.Owner
	}
	if len(keys) != 5 || n != 5 || keys[1] != "o" || keys[2] != "o" || keys[3] != "" || keys[4] != "o" || keys[5] != "o" {
		t.Errorf("got %d: %v", n, broken)
	}
	var ended []int
	for _, e := range table.Step(start.Add(time.Minute), Event[int, string]{Op: Expire}) {
		if e.Do == Finish {
			ended = append(ended, e.Request.Key)
		}
	}
	if len(ended) != 3 || ended[0] != 7 || ended[1] != 6 || ended[2] != 0 {
		t.Errorf("got %v, want 7 6 0: the sound ones by their deadlines", ended)
	}
}

// What the last step asked for and was not done comes back, as far as the table itself knows nothing of it any more.
func TestRepairReturnsWhatWasNotDone(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	table := New[int, string](Options{})
	for key := range 4 {
		table.Step(start, Event[int, string]{Op: Register, Key: key, Owner: "o", Timeout: time.Duration(1+key) * time.Second})
		table.Step(start, Event[int, string]{Op: Forward, Key: key})
	}
	effects := table.Step(start.Add(3*time.Second), Event[int, string]{Op: Expire})
	if effects[0].Do != Withdraw || effects[1].Do != Finish {
		t.Fatalf("got %+v", effects)
	}
	effects[0], effects[1] = Effect[int, string]{}, Effect[int, string]{}
	for range 2 { // another crash before they are done
		left, broken := table.Repair(func(int, string) bool { return true })
		if broken != 0 || len(left) != 4 || left[0].Do != Withdraw || left[1].Do != Finish || left[1].Outcome != TimedOut || left[1].Request.Key != 1 || left[3].Request.Key != 2 {
			t.Errorf("got %+v", left)
		}
	}
	rearmed := table.Step(start.Add(3*time.Second), Event[int, string]{Op: Expire})
	if len(rearmed) != 1 || rearmed[0].Do != Arm || table.Len() != 1 {
		t.Errorf("afterwards: %+v, %d in flight, want the timer for the one that is not due", rearmed, table.Len())
	}
}
