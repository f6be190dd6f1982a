package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"mcpd/chaos/record"
	"mcpd/internal/load"
)

var begun = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newCallCounts() *callCounts {
	return newBook("acme", record.Target, 10, begun, []time.Duration{
		5 * time.Second, 10 * time.Second, 15 * time.Second,
	})
}

func call(due, took time.Duration, is load.Outcome, err error) load.Call {
	return load.Call{
		Due: begun.Add(due), From: begun.Add(due), Done: begun.Add(due + took), Outcome: is, Err: err,
	}
}

// Every call is counted in the phase and the second in which it was due, however it ends, and the
// counts add up.
func TestLedgerBalances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newCallCounts()
		phases := map[string]uint64{}
		n := rapid.IntRange(0, 100).Draw(t, "calls")
		for i := range n {
			due := time.Duration(rapid.IntRange(0, 14_999).Draw(t, "due")) * time.Millisecond
			is := rapid.SampledFrom([]load.Outcome{load.OK, load.Failed, load.Lost, load.Crosstalk}).Draw(t,
				"is")
			var err error
			if is == load.Failed {
				err = fmt.Errorf("error %d", i)
			}
			b.observe(call(due, time.Duration(rapid.IntRange(0, 2_000_000).Draw(t, "took"))*time.Microsecond,
				is, err))
			phases[names[due/(5*time.Second)]]++
		}
		g := b.group()
		var sent, failed, bars uint64
		for name, c := range g.Phases {
			if c.Sent != phases[name] || c.Sent != c.OK+c.Failed+c.Lost+c.Crossed {
				t.Errorf("%s: %+v, want %d sent", name, c, phases[name])
			}
			for _, bar := range c.Histogram {
				bars += bar.Calls
			}
			sent, failed, bars = sent+c.Sent, failed+c.Sent-c.OK, bars-c.OK
		}
		var perSecond, perSecondFailed uint64
		for _, s := range g.Seconds {
			perSecond, perSecondFailed = perSecond+s.Sent, perSecondFailed+s.Failed
			if s.Sent != s.OK+s.Failed || s.P50 > s.P99 || s.P99 > s.Max {
				t.Errorf("second %+v", s)
			}
		}
		if sent != uint64(n) || perSecond != sent || perSecondFailed != failed ||
			failed != b.failures() || bars != 0 {
			t.Errorf("%d calls: %d sent, %d by second; %d and %d failed, %d known; bars %d", n, sent,
				perSecond, failed, perSecondFailed, b.failures(), bars)
		}
		if len(g.Errors) > maxErrors+1 {
			t.Errorf("%d texts of errors", len(g.Errors))
		}
	})
}

func TestSlipsSayWhenAndWhat(t *testing.T) {
	b := newCallCounts()
	b.observe(call(time.Second, 0, load.Crosstalk, nil))
	b.observe(call(6*time.Second, 10*time.Second, load.Lost, context.DeadlineExceeded))
	twice := call(7*time.Second, 0, load.OK, load.ErrDuplicate)
	twice.Doubled = true
	b.observe(twice)
	g := b.group()
	want := []record.Violation{
		{At: 1, Kind: "crossed", Text: "the reply was another call's"},
		{At: 6, Kind: "lost", Text: "context deadline exceeded"},
		{At: 7, Kind: "duplicate", Text: "more than one reply"},
	}
	if fmt.Sprint(g.Violations) != fmt.Sprint(want) {
		t.Errorf("slips %v, want %v", g.Violations, want)
	}
	if c := g.Phases[record.Fault]; c.OK != 1 || c.Duplicate != 1 || c.Lost != 1 {
		t.Errorf("fault: %+v", c)
	}
}

func TestRefusalsAreKnownByStatusAndReason(t *testing.T) {
	for _, test := range []struct {
		err  error
		want bool
	}{
		{load.StatusError{Status: 429}, true},
		{load.StatusError{Status: 503}, true},
		{load.StatusError{Status: 500}, false},
		{&load.CallError{Code: -32010, Data: jsontext.Value(`{"reason":"overloaded"}`)}, true},
		{&load.CallError{Code: -32008, Data: jsontext.Value(`{"reason":"upstream_lost"}`)}, false},
		{&load.CallError{Code: -32603}, false},
		{errors.New("connection reset"), false},
	} {
		if got := refused(test.err); got != test.want {
			t.Errorf("%v: %t", test.err, got)
		}
	}
}

// The target is steady after the last call that failed or was slow, unless the whole machine was
// slow.
func TestTargetIsSteadyAfterItsLastBadCall(t *testing.T) {
	b := newCallCounts()
	b.observe(call(time.Second, 30*time.Millisecond, load.OK, nil))
	b.observe(call(9*time.Second, time.Second, load.OK, nil))
	b.observe(call(10500*time.Millisecond, time.Millisecond, load.Failed, errors.New("gone")))
	b.observe(call(11*time.Second, 61*time.Millisecond, load.OK, nil))
	b.observe(call(12*time.Second, 59*time.Millisecond, load.OK, nil))
	quiet := func(time.Duration) time.Duration { return 0 }
	busy := func(time.Duration) time.Duration { return 40 * time.Millisecond }
	for _, test := range []struct {
		after      time.Duration
		bystanders func(time.Duration) time.Duration
		want       time.Duration
	}{
		{10 * time.Second, quiet, time.Second},
		{10 * time.Second, busy, 500 * time.Millisecond},
		{12 * time.Second, quiet, 0},
	} {
		if got := b.steady(test.after, test.bystanders); got != test.want {
			t.Errorf("after %v: %v, want %v", test.after, got, test.want)
		}
	}
	if got := b.longest(9500 * time.Millisecond); got != time.Second {
		t.Errorf("longest %v", got)
	}
}

func TestQuantilesOfFewCalls(t *testing.T) {
	sorted := []float32{1, 2, 3, 4}
	for q, want := range map[float64]float64{0.5: 2, 0.99: 4, 1: 4, 0: 1} {
		if got := quantile(sorted, q); got != want {
			t.Errorf("%v: %v, want %v", q, got, want)
		}
	}
	if quantile(nil, 0.5) != 0 {
		t.Error("of none")
	}
}

// A block contains the calls of as many seconds as p99.9 needs, and no calls of another phase.
func TestBlocksHaveCallsEnough(t *testing.T) {
	b := newBook("acme", record.Bystander, 1000, begun, []time.Duration{
		5 * time.Second, 9 * time.Second, 10 * time.Second,
	})
	for i := range 10_000 {
		took := time.Millisecond
		if due := time.Duration(i) * time.Millisecond; due >= 5*time.Second {
			took = 3 * time.Millisecond
		}
		b.observe(call(time.Duration(i)*time.Millisecond, took, load.OK, nil))
	}
	want := []record.Block{
		{Phase: record.Baseline, At: 0, Calls: 2000, P999: 1},
		{Phase: record.Baseline, At: 2, Calls: 2000, P999: 1},
		{Phase: record.Fault, At: 0, Calls: 2000, P999: 3},
		{Phase: record.Fault, At: 2, Calls: 2000, P999: 3},
	}
	if got := b.group().Blocks; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
