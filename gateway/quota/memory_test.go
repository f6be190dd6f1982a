package quota

import "testing"

// A level is entered at once, except that Exhausted follows Critical only. Levels are left one by
// one, each below the share at which it was entered.
func TestLevelRisesAtOnceAndFallsLate(t *testing.T) {
	for _, c := range []struct {
		from Level
		use  uint64 // of 1000
		want Level
	}{
		{Normal, 0, Normal}, {Normal, 699, Normal}, {Normal, 700, Elevated}, {Normal, 850, High},
		{Normal, 949, High}, {Normal, 950, Critical},
		{Normal, 5000, Critical}, {High, 5000, Critical}, {Critical, 5000, Exhausted},
		{Normal, 999, Critical}, {Exhausted, 970, Exhausted}, {Exhausted, 969, Critical},
		{Elevated, 700, Elevated}, {Elevated, 650, Elevated}, {Elevated, 649, Normal},
		{Elevated, 850, High},
		{High, 849, High}, {High, 800, High}, {High, 799, Elevated}, {High, 651, Elevated},
		{High, 640, Normal},
		{Critical, 949, Critical}, {Critical, 900, Critical}, {Critical, 899, High},
		{Critical, 801, High}, {Critical, 700, Elevated}, {Critical, 10, Normal},
	} {
		if got := c.from.Next(c.use, 1000); got != c.want {
			t.Errorf("from %v with %d of 1000 in use: %v, want %v", c.from, c.use, got, c.want)
		}
	}
	if got := Critical.Next(1<<40, 0); got != Normal {
		t.Errorf("without a limit: %v", got)
	}
}

// A level refuses sessions before calls, and tenants above their share before the others. Every
// refusal says when to come back.
func TestLevelsRefuseThoseAboveTheirShareFirst(t *testing.T) {
	const above, below = true, false
	for _, c := range []struct {
		Level
		begins, calls [2]bool // above its share, below it
	}{
		{Normal, [2]bool{true, true}, [2]bool{true, true}},
		{Elevated, [2]bool{true, true}, [2]bool{true, true}},
		{High, [2]bool{false, true}, [2]bool{true, true}},
		{Critical, [2]bool{false, true}, [2]bool{false, true}},
		{Exhausted, [2]bool{false, false}, [2]bool{false, false}},
	} {
		begins, calls := [2]bool{c.AllowsBegin(above), c.AllowsBegin(below)}, [2]bool{
			c.AllowsCall(above), c.AllowsCall(below),
		}
		if begins != c.begins || calls != c.calls || (c.Retry() > 0) == begins[0] {
			t.Errorf("%v: begins %v, calls %v, again after %v", c.Level, begins, calls, c.Retry())
		}
	}
	for l := Elevated; l <= Exhausted; l++ {
		if levels[l].leave > levels[l].enter || levels[l].leave < levels[l-1].enter {
			t.Errorf("%v is left at %v: it and %v are entered at %v and %v", l, levels[l].leave, l-1,
				levels[l].enter, levels[l-1].enter)
		}
	}
}

func TestMemoryThatNobodySetsIsNormal(t *testing.T) {
	var none *Memory
	m := new(Memory)
	if none.Level() != Normal || m.Level() != Normal {
		t.Error("it is not")
	}
	if m.Set(High); m.Level() != High {
		t.Errorf("the level is %v, want %v", m.Level(), High)
	}
}
