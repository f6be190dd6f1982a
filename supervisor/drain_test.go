package supervisor

import (
	"testing"
	"time"
)

// The stages of a drain of 30 s at several times, for several idle times.
func TestDrain(t *testing.T) {
	const long = time.Hour
	begun := time.Now()
	d := &drain{begun: begun, budget: 30 * time.Second}
	for _, test := range []struct {
		at, idle      time.Duration
		stage         stage
		parting, over bool
	}{
		{0, long, stageFinish, true, false}, // a client between two calls learns that its connection ends
		{partingNotice, long, stageFinish, true, true},
		{partingNotice, 0, stageFinish, false, false},
		{time.Second, quietBeforeEnd - partingNotice - 1, stageFinish, false, false},
		{time.Second, quietBeforeEnd - partingNotice, stageFinish, true, false},
		{time.Second, quietBeforeEnd - 1, stageFinish, true, false},
		{time.Second, quietBeforeEnd, stageFinish, true, true},
		{20*time.Second - 1, 0, stageFinish, false, false},
		{20 * time.Second, 0, stageRefuse, true, false},
		{20 * time.Second, 1, stageRefuse, true, false}, // a client that continues is refused, not cut
		{20*time.Second + partingNotice, 0, stageRefuse, true, false},
		{20*time.Second + partingNotice, 1, stageRefuse, true, true},
		{27*time.Second - 1, 0, stageRefuse, true, false},
		{27 * time.Second, 0, stageAnswer, true, true},
	} {
		now := begun.Add(test.at)
		parting, over := d.look(now, test.idle)
		if s := d.stage(now); s != test.stage || parting != test.parting || over != test.over {
			t.Errorf("after %v, idle for %v: stage %d, parting %t, over %t, want %d, %t, %t",
				test.at, test.idle, s, parting, over, test.stage, test.parting, test.over)
		}
	}
	if s := (*drain)(nil).stage(begun); s != stageOpen {
		t.Errorf("a host that was not told to stop is at stage %d", s)
	}
}

// A drain whose socket goes to the next host ends when nothing is in flight. It accepts no
// connections, except while a client is awaited.
func TestDrainThatHandsOver(t *testing.T) {
	begun := time.Now()
	d := &drain{begun: begun, budget: 30 * time.Second, handsOver: true}
	for _, test := range []struct {
		at, idle time.Duration
		awaited  bool
		accepts  bool
		over     bool
	}{
		{0, time.Hour, false, false, false},
		{partingNotice, 0, false, false, false},
		{partingNotice, 1, false, false, true},
		{partingNotice, 0, true, true, false},
		{20*time.Second - 1, 0, true, true, false},
		{20 * time.Second, 0, true, false, false},
		{20 * time.Second, 1, true, false, true},
		{27 * time.Second, 0, true, false, true},
	} {
		now := begun.Add(test.at)
		parting, over := d.look(now, test.idle)
		if accepts := d.accepts(now, test.awaited); !parting || over != test.over ||
			accepts != test.accepts {
			t.Errorf("after %v, idle for %v, awaited %t: parting %t, over %t, accepts %t, want true, %t, %t",
				test.at, test.idle, test.awaited, parting, over, accepts, test.over, test.accepts)
		}
	}
}

// The parts of a drain are in order, however short the drain is.
func TestShortDrain(t *testing.T) {
	d := &drain{begun: time.Now(), budget: time.Second}
	refuse, answer := d.stageBegin(stageRefuse).Sub(d.begun), d.stageBegin(stageAnswer).Sub(d.begun)
	if refuse < 600*time.Millisecond || answer <= refuse || answer >= d.budget {
		t.Errorf("refuses after %v, answers after %v", refuse, answer)
	}
	if _, over := d.look(d.begun.Add(d.budget/10), d.budget/10); !over {
		t.Error("a tenth of the budget is not enough to see that nobody calls")
	}
}
