package quota

import "testing"

// A level is entered at once and left one by one, each below where it was entered.
func TestLevelRisesAtOnceAndFallsLate(t *testing.T) {
	for _, c := range []struct {
		from Level
		use  uint64 // of 1000
		want Level
	}{
		{Normal, 0, Normal}, {Normal, 699, Normal}, {Normal, 700, Elevated}, {Normal, 850, High}, {Normal, 949, High}, {Normal, 950, Critical},
		{Normal, 5000, Critical}, {Elevated, 700, Elevated}, {Elevated, 650, Elevated}, {Elevated, 649, Normal}, {Elevated, 850, High},
		{High, 849, High}, {High, 800, High}, {High, 799, Elevated}, {High, 651, Elevated}, {High, 640, Normal},
		{Critical, 949, Critical}, {Critical, 900, Critical}, {Critical, 899, High}, {Critical, 801, High}, {Critical, 700, Elevated}, {Critical, 10, Normal},
	} {
		if got := c.from.Next(c.use, 1000); got != c.want {
			t.Errorf("from %v with %d of 1000 in use: %v, want %v", c.from, c.use, got, c.want)
		}
	}
	if got := Critical.Next(1<<40, 0); got != Normal {
		t.Errorf("without a limit: %v", got)
	}
}

// What refuses a call refuses a session, and whoever is refused is told when to come back.
func TestLevelsRefuseNewWorkBeforeOld(t *testing.T) {
	for l := Normal; l <= Critical; l++ {
		row := levels[l]
		if row.call && l > High || row.begin && !row.call || (row.retry > 0) == (row.begin && row.call) || row.leave > row.enter {
			t.Errorf("%v: %+v", l, row)
		}
	}
	for l := Elevated; l <= Critical; l++ {
		if levels[l].leave < levels[l-1].enter {
			t.Errorf("%v is left below where %v is entered", l, l-1)
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
