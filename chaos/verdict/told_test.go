package verdict

import (
	"fmt"
	"testing"
	"time"

	"mcpd/chaos/record"
)

// A fault that was not armed in the host is told by any unexpected event of the host after the
// injection.
func TestFaultsFromOutsideAreToldByWhatTheHostSees(t *testing.T) {
	r := record.Record{
		Strikes: []record.Strike{{ID: "child.kill-1", Kind: "child.kill", From: 10, To: 10, Hits: 1}},
	}
	for _, test := range []struct {
		event record.Event
		want  string
	}{
		{record.Event{At: 10.01, Level: "warn", Name: "upstream_exited"}, record.Pass},
		{record.Event{At: 9, Level: "warn", Name: "upstream_exited"}, record.Fail},
		{record.Event{At: 10.01, Level: "debug", Name: "child_started"}, record.Fail},
	} {
		r.Events = []record.Event{test.event}
		if is, found := judgeEvents(r); is != test.want {
			t.Errorf("%+v: %s", test.event, fmt.Sprint(is, ": ", found))
		}
	}
}

// An hour of everything at once is judged in moments, because each event and each strike is visited
// once.
func TestAnHourIsJudgedInMoments(t *testing.T) {
	r := record.Record{Events: make([]record.Event, 100_000), Strikes: make([]record.Strike, 5000)}
	for i := range r.Events {
		r.Events[i] = record.Event{At: float64(i) / 30, Level: "info", Name: "session_closed"}
	}
	for i := range r.Strikes {
		r.Strikes[i] = record.Strike{
			ID: fmt.Sprintf("f%d", i), Kind: "child.kill", From: float64(i) / 2, Hits: 1,
		}
	}
	ended := make(chan string, 1)
	go func() { // owner: this test, which waits for it
		is, _ := judgeEvents(r)
		ended <- is
	}()
	select {
	case is := <-ended:
		if is != record.Pass {
			t.Errorf("I11 is %s", is)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it was not judged within 20 s")
	}
}
