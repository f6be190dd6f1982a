package run

import (
	"testing"
	"time"
)

// A record has space for problems, however many sessions come and go meanwhile. The record is
// incomplete only when that space is used up.
func TestSessionsThatComeAndGoLeaveRoom(t *testing.T) {
	f := &feed{}
	crash := event{Name: "child_crashed", Fields: map[string]string{"class": "session"}}
	for range 3 * maxEvents / 10 {
		for _, e := range []event{
			{Name: "session_opened"}, {Name: "phase_changed"},
			{Name: "child_started", Fields: map[string]string{"class": "session"}}, {Name: "session_closed"},
		} {
			f.add(e)
		}
		f.add(crash)
	}
	list, remaining, err := f.records(time.Now())
	if err != nil || len(list) != maxPassing+3*maxEvents/10 ||
		remaining != 12*maxEvents/10-maxPassing {
		t.Errorf("%d events, %d left out, %v", len(list), remaining, err)
	}
	for range maxEvents {
		f.add(crash)
	}
	if list, _, err := f.records(time.Now()); err == nil || len(list) != maxEvents {
		t.Errorf("%d events, %v", len(list), err)
	}
}
