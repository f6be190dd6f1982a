package actor

import (
	"testing"
	"time"

	"mcpd/bench/kit"
)

// Whatever is to crash does so more than once, which it does only when it is back in between; and what is to work does.
func TestEveryVictimOfAHostCrashesAndIsBack(t *testing.T) {
	talk, err := kit.StartTalk(t.Context(), hurtHost, "")
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
	for _, order := range []string{"crash 1000 " + actorVictim, "crash 1000 " + programVictim, "crash 1000 " + siteVictim, "work 1000 3"} {
		const want = 3
		var all done
		for deadline := time.Now().Add(time.Minute); all.Times < want && time.Now().Before(deadline); {
			var d done
			if err := talk.Ask(order, &did); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond) // in which it is done, if the machine has time for it; otherwise in the next
			if err := talk.Ask("calm", &d); err != nil {
				t.Fatal(err)
			}
			all.Times, all.CPU = all.Times+d.Times, all.CPU+d.CPU
		}
		if all.Times < want || all.CPU == 0 {
			t.Errorf("%s: %+v, want %d times", order, all, want)
		}
	}
	for _, line := range []string{"crash 1000 planet", "crash often actor", "work 1000", "calm", "sing"} {
		if err := talk.Ask(line, &did); err == nil {
			t.Errorf("%q was done", line)
		}
	}
}
