package inflight_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mcpd/protocol"
	"mcpd/protocol/inflight"
)

type (
	table  = inflight.Table[uint64, string]
	event  = inflight.Event[uint64, string]
	effect = inflight.Effect[uint64, string]
)

var start = time.Unix(1_000_000, 0)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func empty() *table { return inflight.New[uint64, string](inflight.Options{}) }

// told says the effects in short.
func told(effects []effect) string {
	var list []string
	for _, e := range effects {
		switch e.Do {
		case inflight.Send:
			list = append(list, fmt.Sprintf("send %d", e.Request.Key))
		case inflight.Reject:
			list = append(list, fmt.Sprintf("reject %d %v", e.Request.Key, protocol.ConditionOf(e.Err)))
		case inflight.Finish:
			list = append(list, fmt.Sprintf("finish %s %v", e.Request.Owner, e.Outcome))
		case inflight.Withdraw:
			list = append(list, fmt.Sprintf("withdraw %d", e.Request.Key))
		case inflight.Drop:
			list = append(list, fmt.Sprintf("drop %d %v", e.Request.Key, e.Why))
		case inflight.Arm:
			list = append(list, fmt.Sprintf("arm %d", int(e.At.Sub(start)/time.Second)))
		}
	}
	return strings.Join(list, ", ")
}

// S4-54 to S4-62, S4-115: what becomes of requests, told step by step.
func TestLifeOfRequests(t *testing.T) {
	const register, forward, complete, cancel = inflight.Register, inflight.Forward, inflight.Complete, inflight.Cancel
	const progress, park, unpark, lose, expire = inflight.Progress, inflight.Park, inflight.Unpark, inflight.Lose, inflight.Expire
	type step struct {
		at   int
		in   event
		want string
	}
	s := func(at int, op inflight.Op, key uint64, want string) step {
		return step{at, event{Op: op, Key: key}, want}
	}
	call := func(at int, key uint64, want string) step {
		in := event{Op: register, Key: key, Method: "tools/call", Owner: fmt.Sprint("o", key), Timeout: 60 * time.Second, Max: 150 * time.Second}
		return step{at, in, want}
	}
	done := func(at int, key uint64, how inflight.Outcome, want string) step {
		return step{at, event{Op: complete, Key: key, Outcome: how}, want}
	}
	parked := func(at int, key uint64, seconds int, want string) step {
		return step{at, event{Op: park, Key: key, Timeout: time.Duration(seconds) * time.Second}, want}
	}
	for name, steps := range map[string][]step{
		"answered": {call(0, 1, "send 1, arm 60"), s(1, forward, 1, ""), done(2, 1, inflight.Succeeded, "finish o1 succeeded")},
		"failed":   {call(0, 1, "send 1, arm 60"), done(2, 1, inflight.Failed, "finish o1 failed")},
		"answered twice": {
			call(0, 1, "send 1, arm 60"), done(2, 1, inflight.Succeeded, "finish o1 succeeded"), done(3, 1, inflight.Succeeded, "drop 1 duplicate"),
		},
		"answered, never asked": {done(0, 9, inflight.Succeeded, "drop 9 unknown")},
		"cancelled": {
			call(0, 1, "send 1, arm 60"), s(1, forward, 1, ""), s(2, cancel, 1, "withdraw 1, finish o1 cancelled"), done(3, 1, inflight.Succeeded, "drop 1 late"),
		},
		"cancelled before it went out": {call(0, 1, "send 1, arm 60"), s(2, cancel, 1, "finish o1 cancelled"), s(3, forward, 1, "drop 1 late")},
		"cancelled, never asked":       {s(0, cancel, 1, "drop 1 unknown")},
		"key in use":                   {call(0, 1, "send 1, arm 60"), call(1, 1, "reject 1 request_id_conflict")},
		"key used again":               {call(0, 1, "send 1, arm 60"), done(1, 1, inflight.Succeeded, "finish o1 succeeded"), call(2, 1, "send 1")},
		"timed out": {
			call(0, 1, "send 1, arm 60"), s(1, forward, 1, ""), s(60, expire, 0, "withdraw 1, finish o1 timed_out"), done(61, 1, inflight.Succeeded, "drop 1 late"),
		},
		"timer of an answered one": {
			call(0, 1, "send 1, arm 60"), call(10, 2, "send 2"), done(20, 1, inflight.Succeeded, "finish o1 succeeded"),
			s(60, expire, 0, "arm 70"), s(70, expire, 0, "finish o2 timed_out"), s(71, expire, 0, ""),
		},
		"several due": {
			call(0, 1, "send 1, arm 60"), call(1, 2, "send 2"), call(2, 3, "send 3"), s(61, expire, 0, "finish o1 timed_out, finish o2 timed_out, arm 62"),
		},
		"progress, up to the maximum": {
			call(0, 1, "send 1, arm 60"), s(50, progress, 1, ""), s(60, expire, 0, "arm 110"), s(105, progress, 1, ""), s(110, expire, 0, "arm 150"),
			s(149, progress, 1, ""), s(150, expire, 0, "finish o1 timed_out"),
		},
		"waits for its user": {
			call(0, 1, "send 1, arm 60"), parked(30, 1, 300, ""), s(60, expire, 0, "arm 330"), s(90, progress, 1, ""),
			s(200, unpark, 1, "arm 260"), s(250, progress, 1, ""), s(260, expire, 0, "arm 310"), s(309, progress, 1, ""), s(310, expire, 0, "arm 320"),
			s(320, expire, 0, "finish o1 timed_out"), // 150 s of its own, and 170 s of the user's
		},
		"asks its user two things": {
			call(0, 1, "send 1, arm 60"), parked(10, 1, 300, ""), parked(20, 1, 300, ""), s(30, unpark, 1, ""), s(60, expire, 0, "arm 320"),
			s(100, unpark, 1, "arm 160"), s(101, unpark, 1, ""), s(160, expire, 0, "finish o1 timed_out"),
		},
		"user does not answer": {call(0, 1, "send 1, arm 60"), parked(10, 1, 300, ""), s(310, expire, 0, "finish o1 timed_out")},
		"server lost":          {call(0, 1, "send 1, arm 60"), s(1, forward, 1, ""), s(2, lose, 1, "finish o1 lost"), done(3, 1, inflight.Succeeded, "drop 1 late")},
		"default timeout":      {{0, event{Op: register, Key: 1}, "send 1, arm 5"}}, // S4-56
	} {
		t.Run(name, func(t *testing.T) {
			table := empty()
			for i, s := range steps {
				if got := told(table.Step(at(s.at), s.in)); got != s.want {
					t.Fatalf("step %d: got %q, want %q", i+1, got, s.want)
				}
			}
		})
	}
}

// S4-57: at most 1000.
func TestTableIsBounded(t *testing.T) {
	table := empty()
	for i := range uint64(protocol.MaxPending) {
		table.Step(start, event{Op: inflight.Register, Key: i})
	}
	if got := told(table.Step(start, event{Op: inflight.Register, Key: 5000})); got != "reject 5000 overloaded" {
		t.Errorf("got %q", got)
	}
	table.Step(start, event{Op: inflight.Complete, Key: 0, Outcome: inflight.Succeeded})
	if got := told(table.Step(start, event{Op: inflight.Register, Key: 5000})); got != "send 5000" {
		t.Errorf("got %q", got)
	}
}

func TestTimeoutSaysHowLong(t *testing.T) {
	table := empty()
	table.Step(start, event{Op: inflight.Register, Key: 1, Timeout: 2 * time.Second})
	for _, e := range table.Step(at(3), event{Op: inflight.Expire}) {
		if e.Do == inflight.Finish && (!errors.Is(e.Err, protocol.ConditionTimeout) || e.Err.Error() != "no answer within 3s") {
			t.Errorf("got %v", e.Err)
		}
	}
}

// S4-58, S4-62.
func TestPendingRequestsAreVisible(t *testing.T) {
	table := empty()
	table.Step(start, event{Op: inflight.Register, Key: 1, Method: "tools/call", Owner: "a", Timeout: time.Minute})
	table.Step(at(1), event{Op: inflight.Register, Key: 2, Method: "tools/list", Owner: "b"})
	table.Step(at(2), event{Op: inflight.Forward, Key: 1})
	table.Step(at(2), event{Op: inflight.Progress, Key: 1})
	table.Step(at(2), event{Op: inflight.Park, Key: 2, Timeout: time.Minute})
	var keys []uint64
	for r := range table.Pending() {
		keys = append(keys, r.Key)
	}
	for range table.Pending() {
		break
	}
	slices.Sort(keys)
	if !slices.Equal(keys, []uint64{1, 2}) || table.Len() != 2 {
		t.Errorf("got %v of %d", keys, table.Len())
	}
	r, ok := table.Get(1)
	if !ok || r.Method != "tools/call" || r.Owner != "a" || !r.Forwarded || r.Parked || r.Progress != 1 || !r.Started.Equal(start) || !r.Deadline.Equal(at(60)) {
		t.Errorf("got %+v", r)
	}
	if r, _ := table.Get(2); !r.Parked || r.Forwarded {
		t.Errorf("got %+v", r)
	}
	if _, ok := table.Get(3); ok {
		t.Error("found a request that is not there")
	}
}

// S4-55, S4-133: sums by method stay, lines go after their time.
func TestHistoryAndMetrics(t *testing.T) {
	table := inflight.New[uint64, string](inflight.Options{History: 4, TTL: time.Minute})
	finish := func(now int, key uint64, method string, how inflight.Outcome) {
		table.Step(at(now), event{Op: inflight.Register, Key: key, Method: method})
		table.Step(at(now+2), event{Op: inflight.Complete, Key: key, Outcome: how})
	}
	for i := range uint64(10) {
		finish(int(i), i, "tools/call", inflight.Succeeded)
	}
	var keys []uint64
	for line := range table.History(at(12)) {
		keys = append(keys, line.Key)
	}
	if !slices.Equal(keys, []uint64{9, 8, 7, 6}) {
		t.Errorf("got %v, want the latest four", keys)
	}
	for range table.History(at(12)) {
		break
	}
	if got := told(table.Step(at(12), event{Op: inflight.Complete, Key: 0})); got != "drop 0 unknown" {
		t.Errorf("got %q of one that was pushed out", got)
	}
	if got := told(table.Step(at(12), event{Op: inflight.Complete, Key: 9})); got != "drop 9 duplicate" {
		t.Errorf("got %q", got)
	}
	if got := told(table.Step(at(72), event{Op: inflight.Complete, Key: 9})); got != "drop 9 unknown" {
		t.Errorf("got %q of one that is past its time", got)
	}
	for line := range table.History(at(72)) {
		t.Errorf("%v is past its time", line)
	}
	finish(100, 50, "tools/call", inflight.Failed)
	m := table.Metrics()["tools/call"]
	if m.Finished != 11 || m.Outcomes[inflight.Succeeded] != 10 || m.Outcomes[inflight.Failed] != 1 || m.Total != 22*time.Second || m.Longest != 2*time.Second {
		t.Errorf("got %+v", m)
	}
	if table.Dropped(inflight.Unknown) != 2 || table.Dropped(inflight.Duplicate) != 1 || table.Dropped(inflight.Late) != 0 {
		t.Error("drops are miscounted")
	}
}

// Names of methods come from the peer and must not become labels without end.
func TestMetricsAreBounded(t *testing.T) {
	table := empty()
	for i := range uint64(200) {
		table.Step(start, event{Op: inflight.Register, Key: i, Method: fmt.Sprint("m", i)})
		table.Step(start, event{Op: inflight.Complete, Key: i, Outcome: inflight.Succeeded})
	}
	sums := table.Metrics()
	if len(sums) != protocol.MaxMethodMetrics+1 || sums["_other"].Finished != 200-protocol.MaxMethodMetrics {
		t.Errorf("got %d methods, %d others", len(sums), sums["_other"].Finished)
	}
}

// Against a model: each request that was taken on has exactly one outcome, in time, and the timer is never set too late.
func TestTableProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := inflight.New[uint64, string](inflight.Options{Pending: 8, History: 4, TTL: 30 * time.Second})
		now := start
		var timer time.Time
		open := make(map[uint64]bool)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "seconds")) * time.Second)
			in := event{
				Op:      inflight.Op(rapid.IntRange(1, 9).Draw(t, "op")),
				Key:     uint64(rapid.IntRange(0, 12).Draw(t, "key")),
				Timeout: time.Duration(rapid.IntRange(1, 60).Draw(t, "timeout")) * time.Second,
				Max:     time.Duration(rapid.IntRange(0, 120).Draw(t, "max")) * time.Second,
				Outcome: inflight.Succeeded,
			}
			if in.Op == inflight.Expire {
				timer = time.Time{}
			}
			effects := table.Step(now, in)
			for i, e := range effects {
				effects[i] = inflight.Effect[uint64, string]{}
				switch e.Do {
				case inflight.Send:
					if open[e.Request.Key] {
						t.Fatalf("%d was sent twice", e.Request.Key)
					}
					open[e.Request.Key] = true
				case inflight.Finish:
					if !open[e.Request.Key] {
						t.Fatalf("%d has an outcome more than it should", e.Request.Key)
					}
					delete(open, e.Request.Key)
					if e.Outcome == inflight.TimedOut && now.Before(e.Request.Deadline) {
						t.Fatalf("%d timed out at %v, its deadline is %v", e.Request.Key, now, e.Request.Deadline)
					}
				case inflight.Arm:
					timer = e.At
				}
			}
			if table.Len() != len(open) || table.Len() > 8 {
				t.Fatalf("%d in flight, want %d", table.Len(), len(open))
			}
			for r := range table.Pending() {
				if timer.IsZero() || r.Deadline.Before(timer) {
					t.Fatalf("the timer is set to %v, %d is due at %v", timer, r.Key, r.Deadline)
				}
				if in.Op == inflight.Expire && !r.Deadline.After(now) {
					t.Fatalf("%d was due at %v and is still there at %v", r.Key, r.Deadline, now)
				}
			}
		}
		if broken, _ := table.Repair(func(uint64, string) bool { return true }); len(broken) > 0 {
			t.Fatalf("a sound table has %v", broken)
		}
	})
}

func TestStepAllocatesLittle(t *testing.T) {
	table := empty()
	key := uint64(0)
	n := testing.AllocsPerRun(2000, func() {
		key++
		table.Step(start, event{Op: inflight.Register, Key: key, Method: "tools/call", Owner: "o"})
		table.Step(start, event{Op: inflight.Forward, Key: key})
		table.Step(start, event{Op: inflight.Complete, Key: key, Outcome: inflight.Succeeded})
	})
	if n > 0 {
		t.Errorf("got %v allocations for a request, want none", n)
	}
}

// S4-124: correlation below 50 µs, with the table full.
func BenchmarkRequestCorrelation(b *testing.B) {
	table := empty()
	for i := range uint64(protocol.MaxPending - 1) {
		table.Step(start.Add(time.Duration(i)), event{Op: inflight.Register, Key: i, Method: "tools/call", Timeout: time.Minute})
	}
	key := uint64(10_000)
	b.ReportAllocs()
	for b.Loop() {
		key++
		now := start.Add(time.Duration(key) * time.Microsecond)
		table.Step(now, event{Op: inflight.Register, Key: key, Method: "tools/call", Timeout: time.Minute})
		table.Step(now, event{Op: inflight.Complete, Key: key, Outcome: inflight.Succeeded})
	}
}

func ExampleTable() {
	now := time.Unix(0, 0)
	table := inflight.New[uint64, string](inflight.Options{})
	step := func(in inflight.Event[uint64, string]) {
		for _, e := range table.Step(now, in) {
			switch e.Do {
			case inflight.Send:
				fmt.Println("send", e.Request.Key)
			case inflight.Finish:
				fmt.Println(e.Request.Owner, "gets", e.Outcome)
			case inflight.Drop:
				fmt.Println("dropped:", e.Why)
			}
		}
	}
	step(inflight.Event[uint64, string]{Op: inflight.Register, Key: 1, Method: "tools/call", Owner: "alice", Timeout: time.Minute})
	step(inflight.Event[uint64, string]{Op: inflight.Complete, Key: 1, Outcome: inflight.Succeeded})
	step(inflight.Event[uint64, string]{Op: inflight.Complete, Key: 1, Outcome: inflight.Succeeded})
	// Output:
	// send 1
	// alice gets succeeded
	// dropped: duplicate
}
