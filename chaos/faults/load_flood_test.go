package faults

import (
	"testing"
	"time"
)

// A flood goes on until it is healed, leaves no call and no session behind, and reports how many of
// its calls were in vain.
func TestFloodEndsWhenItIsHealed(t *testing.T) {
	t.Run("answered", func(t *testing.T) {
		endsWhenHealed(t, "message", func(int64) int64 { return 0 })
	})
	// the server returns none of these texts
	t.Run("in vain", func(t *testing.T) {
		endsWhenHealed(t, "text", func(calls int64) int64 { return calls })
	})
}

func endsWhenHealed(t *testing.T, argument string, vain func(calls int64) int64) {
	url, calls, sessions := echo(t)
	s := site(loadFlood, &operator{}, Values{"rate": 500, "sessions": 3, "at_once": 4})
	s.Client = Client{URL: url, Tool: "echo", Argument: argument}
	in, err := loadFlood.Inject(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if n := sessions.Load(); n != 3 {
		t.Errorf("%d sessions", n)
	}
	for deadline := time.Now().Add(patience); calls.Load() < 50; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d calls", calls.Load())
		}
	}
	for range 2 {
		if err := in.Heal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	hits, err := in.Hits(t.Context())
	if err != nil || int64(hits) != calls.Load() || sessions.Load() != 0 {
		t.Errorf("%d hits, %v, %d calls, %d sessions left", hits, err, calls.Load(), sessions.Load())
	}
	if got, want := in.Figures()["flood_failed"], vain(calls.Load()); len(got) != 1 ||
		int64(got[0]) != want {
		t.Errorf("%v of %d failed, want %d", got, calls.Load(), want)
	}
}

func TestFloodOfNobodyIsAnError(t *testing.T) {
	s := site(loadFlood, &operator{}, nil)
	s.Client = Client{URL: "http://127.0.0.1:1/mcp"}
	if _, err := loadFlood.Inject(t.Context(), s); err == nil {
		t.Error("it floods nobody")
	}
}
