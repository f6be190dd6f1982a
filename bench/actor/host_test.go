package actor

import (
	"slices"
	"testing"
	"time"

	"mcpd/bench/kit"
)

// Every victim crashes at least three times, which is possible only if it recovers in between, and
// the ordered work is done. With released budgets a program is not killed more often than its
// budget allows.
func TestEveryVictimOfAHostCrashesAndIsBack(t *testing.T) {
	for _, b := range []budgets{released, lifted} {
		t.Run(string(b), func(t *testing.T) { everyVictim(t, b) })
	}
}

func everyVictim(t *testing.T, b budgets) {
	talk, err := kit.StartTalk(t.Context(), hurtHost, string(b))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := talk.Stop(); err != nil {
			t.Error(err)
		}
	}()
	var base string
	if err := talk.Ask("begin", &base); err != nil {
		t.Fatal(err)
	}
	var did int
	for _, order := range []string{"crash 1000 " + actorVictim, "crash 1000 " + programVictim,
		"crash 1000 " + siteVictim, "work 1000 3"} {
		const want = 3
		var all done
		for deadline := time.Now().Add(time.Minute); all.Times < want && time.Now().Before(deadline); {
			var d done
			if err := talk.Ask(order, &did); err != nil {
				t.Fatal(err)
			}
			// usually enough time for the order; otherwise the next round counts
			time.Sleep(100 * time.Millisecond)
			if err := talk.Ask("calm", &d); err != nil {
				t.Fatal(err)
			}
			all.Times, all.CPU = all.Times+d.Times, all.CPU+d.CPU
		}
		if all.Times < want || all.CPU == 0 {
			t.Errorf("%s: %+v, want %d times", order, all, want)
		}
	}
	if b == released {
		most(t, talk, allowed.Restarts)
	}
	for _, line := range []string{"crash 1000 planet", "crash often actor", "work 1000",
		"calm", "sing"} {
		if err := talk.Ask(line, &did); err == nil {
			t.Errorf("%q was done", line)
		}
	}
}

// most checks that a program is not killed more often than its budget allows, however often that is
// requested.
func most(t *testing.T, talk *kit.Talk, want int) {
	t.Helper()
	var did int
	var d done
	begun := time.Now()
	if err := talk.Ask("crash 1000 "+programVictim, &did); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	if err := talk.Ask("calm", &d); err != nil {
		t.Fatal(err)
	}
	if d.Times > want && time.Since(begun) < allowed.Within {
		t.Errorf("killed %d times, and the budget is %d", d.Times, want)
	}
}

// A budget is used up by as many crashes as it allows, and is refilled as its window moves on.
func TestAllowanceIsThatOfABudget(t *testing.T) {
	var a allowance
	now := time.Now()
	for i := range allowed.Restarts {
		if !a.take(now.Add(time.Duration(i) * time.Second)) {
			t.Errorf("end %d is refused", i)
		}
	}
	for after, want := range map[time.Duration]bool{10 * time.Second: false, allowed.Within: false,
		allowed.Within + allowedMargin + time.Nanosecond: true} {
		b := allowance{slices.Clone(a.last)}
		if got := b.take(now.Add(after)); got != want {
			t.Errorf("after %v: %t, want %t", after, got, want)
		}
	}
}
