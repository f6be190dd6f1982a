package actor

import (
	"testing"
	"time"

	"mcpd/bench/kit"
)

// Whatever is to crash does so more than once, which it does only when it is back in between.
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
	for _, victim := range []string{actorVictim, programVictim, siteVictim} {
		const want = 3
		crashes, deadline := 0, time.Now().Add(time.Minute)
		for crashes < want && time.Now().Before(deadline) {
			var did int
			var d done
			if err := talk.Ask("crash 1000 "+victim, &did); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond) // in which it crashes, if the machine has time for it; otherwise in the next
			if err := talk.Ask("calm", &d); err != nil {
				t.Fatal(err)
			}
			crashes += d.Times
		}
		if crashes < want {
			t.Errorf("%s: %d crashes, want %d", victim, crashes, want)
		}
	}
	var did int
	var d done
	if err := talk.Ask("work 1000 3", &did); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	if err := talk.Ask("calm", &d); err != nil || d.Times == 0 || d.CPU == 0 {
		t.Errorf("work: %+v, %v", d, err)
	}
	for _, line := range []string{"crash 1000 planet", "crash often actor", "work 1000", "calm", "sing"} {
		if err := talk.Ask(line, &did); err == nil {
			t.Errorf("%q was done", line)
		}
	}
}
