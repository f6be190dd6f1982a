package client

import (
	"crypto/sha256"
	"testing"
	"time"

	"mcpd/supervisor/otp"
)

// Connections to one URL share an incident. A connection that was in use when it began belongs to
// it, whenever its loss is detected. A connection that was ready since then belongs to another
// incident.
func TestConnectionsToAURLShareAnIncident(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(1000+int64(s), 0) }
	k := &SharedServerState{}
	for _, step := range []struct {
		label      string
		since, now int
		ready      bool // a connection is, before that
		want       string
		first      bool
	}{
		{"the first to find out", 1, 10, false, "a", true},
		{"another", 2, 11, false, "a", false},
		{"one that was opened meanwhile", 11, 12, false, "a", false},
		{"one that finds out late", 3, 100, true, "a", false},
		{"one that was ready since", 50, 101, false, "f", true},
		{"one that was not", 50, 102, false, "f", false},
	} {
		if step.ready {
			k.markReady(otp.Ref{})
			k.markNotReady(otp.Ref{})
		}
		fresh := map[bool]string{true: "a", false: "f"}[step.now == 10]
		got, first := k.began(at(step.since), at(step.now), fresh)
		if got != step.want || first != step.first {
			t.Errorf("%s: incident %q, first %v", step.label, got, first)
		}
	}
}

// The start of a connection is reported unless another is ready, or the server is in trouble
// already.
func TestRoutineStarts(t *testing.T) {
	k := &SharedServerState{}
	if k.routine() {
		t.Error("the first start is routine")
	}
	if !k.markReady(otp.Ref{}) || !k.routine() {
		t.Error("the first that is ready is no news, or the start of a second is")
	}
	k.markNotReady(otp.Ref{})
	if k.routine() {
		t.Error("the start after a quiet end is routine")
	}
	for i, changed := range []bool{true, false} {
		if k.markStarting(otp.Ref{}) != changed {
			t.Errorf("start %d while others start: news is %t", i, !changed)
		}
	}
	k.markNotReady(otp.Ref{})
	if !k.markStarting(otp.Ref{}) {
		t.Error("the start after one that has failed is routine")
	}
	k.markNotReady(otp.Ref{})
	k.began(time.Time{}, time.Unix(1, 0), "a")
	if !k.routine() {
		t.Error("a dial of a server in trouble is news")
	}
}

// Open questions are remembered for a while, and no more of them than the bound.
func TestAskedQuestionsAreBounded(t *testing.T) {
	k, now := &SharedServerState{}, time.Unix(1, 0)
	question := func(i int) (q [sha256.Size]byte) {
		q[0], q[1] = byte(i), byte(i>>8)
		return q
	}
	for i := range MaxAsked + 10 {
		now = now.Add(time.Millisecond)
		k.questionOpened(question(i), now)
	}
	if n := len(k.openQuestions); n != MaxAsked {
		t.Errorf("%d are remembered, want %d", n, MaxAsked)
	}
	if k.isAsked(question(0), now) || !k.isAsked(question(MaxAsked+9), now) {
		t.Error("not the oldest were forgotten")
	}
	if k.questionClosed(question(MaxAsked + 8)); k.isAsked(question(MaxAsked+8), now) {
		t.Error("it is remembered although it is settled")
	}
	if now = now.Add(AskedFor + time.Second); k.isAsked(question(MaxAsked+9), now) {
		t.Error("it is remembered too long")
	}
}

// Each status of a server in trouble is reported once, until there are too many or the trouble is
// over.
func TestEachStatusOfATroubleIsToldOnce(t *testing.T) {
	var k SharedServerState
	now := time.Now()
	k.began(now, now, "one")
	for status := range 2 * MaxIncidentStatuses {
		if got := k.firstReport(status); got != (status < MaxIncidentStatuses) {
			t.Errorf("the status %d is news: %v", status, got)
		}
		if k.firstReport(status) {
			t.Errorf("the status %d is news again", status)
		}
	}
	k.markReady(otp.Ref{})
	k.began(now.Add(time.Minute), now.Add(time.Minute), "two")
	if !k.firstReport(0) {
		t.Error("of the next trouble nothing is told")
	}
}
