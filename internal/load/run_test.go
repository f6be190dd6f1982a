package load

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/internal/clock"
)

// clientFunc is a Client without a server.
type clientFunc func(ctx context.Context, nonce Nonce) (Nonce, error)

func (f clientFunc) Call(ctx context.Context, nonce Nonce) (Nonce, error) { return f(ctx, nonce) }

// takes returns a client that answers after d.
func takes(d time.Duration) clientFunc {
	return func(ctx context.Context, n Nonce) (Nonce, error) {
		select {
		case <-time.After(d):
			return n, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

func options(change func(*Options)) Options {
	o := Options{Clock: clock.System, Workers: 1, Calls: 100, For: time.Minute, Timeout: time.Second}
	change(&o)
	return o
}

// Coordinated omission: a server that stalls for a second delays all calls that are due meanwhile.
// The open loop shows that, while the closed loop sees one slow call.
func TestOpenLoopCountsTheCallsThatAStallKeptWaiting(t *testing.T) {
	stall := func() clientFunc {
		var once sync.Once
		return func(ctx context.Context, n Nonce) (Nonce, error) {
			d := time.Millisecond
			once.Do(func() { d = 900 * time.Millisecond })
			return takes(d)(ctx, n)
		}
	}
	tests := []struct {
		name   string
		rate   float64
		p90    time.Duration // at least
		behind bool
	}{
		{"open", 100, 700 * time.Millisecond, true},
		{"closed", 0, time.Millisecond, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := Run(t.Context(), []Client{stall()}, options(func(o *Options) { o.Rate = test.rate }))
				if err != nil {
					t.Fatal(err)
				}
				if !r.Clean() || r.Counts.OK != 100 {
					t.Errorf("counts = %+v, want 100 OK", r.Counts)
				}
				if got := r.Quantile(0.9); got < test.p90 || (!test.behind && got > 2*test.p90) {
					t.Errorf("p90 = %v, want about %v", got, test.p90)
				}
				if (r.Waited > 80) != test.behind || r.Late != 0 {
					t.Errorf("waited = %d, late = %v", r.Waited, r.Late)
				}
			})
		})
	}
}

func TestOpenLoopKeepsItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(func(o *Options) { o.Rate, o.Workers, o.Calls = 300, 8, 601 })
		r, err := Run(t.Context(), []Client{takes(10 * time.Millisecond)}, o)
		if err != nil {
			t.Fatal(err)
		}
		// Call 600 is due after exactly 2 s and takes 10 ms.
		if want := 2010 * time.Millisecond; r.Took != want || r.Late != 0 || r.Waited != 0 {
			t.Errorf("took = %v, late %v, waited %d, want %v, 0 and 0", r.Took, r.Late, r.Waited, want)
		}
		if got := r.Quantile(1).Round(time.Millisecond); got != 10*time.Millisecond {
			t.Errorf("longest = %v, want 10ms", got)
		}
	})
}

// A run ends by whichever bound comes first, and never leaves a call in flight.
func TestRunIsBounded(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Options)
		sent   uint64
	}{
		{"by calls", func(o *Options) { o.Calls = 7 }, 7},
		{"by time, closed", func(o *Options) { o.For = 95 * time.Millisecond }, 10},
		{"by time, open", func(o *Options) { o.For, o.Rate = 95*time.Millisecond, 100 }, 10},
		{"by time, open and saturated", func(o *Options) {
			o.For, o.Rate = 95*time.Millisecond, 1000
		}, 10},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := Run(t.Context(), []Client{takes(10 * time.Millisecond)}, options(test.change))
				if err != nil {
					t.Fatal(err)
				}
				if want := (Counts{Sent: test.sent, OK: test.sent}); r.Counts != want {
					t.Errorf("counts = %+v, want %+v", r.Counts, want)
				}
			})
		})
	}
}

func TestEndOfContextFinishesTheCallsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Millisecond)
		defer cancel()
		r, err := Run(ctx, []Client{takes(10 * time.Millisecond)}, options(func(o *Options) {
			o.Workers = 2
		}))
		if err != nil {
			t.Fatal(err)
		}
		if want := (Counts{Sent: 6, OK: 6}); r.Counts != want {
			t.Errorf("counts = %+v, want %+v", r.Counts, want)
		}
	})
}

// Observe gets every call once, with the time when it was due, whatever happened before, and with
// its outcome.
func TestEveryCallIsObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("refused")
		var calls []Call
		n := 0
		client := clientFunc(func(ctx context.Context, nonce Nonce) (Nonce, error) {
			switch n++; n {
			case 1: // the next call is due meanwhile
				return takes(15*time.Millisecond)(ctx, nonce)
			case 3:
				return "", refused
			case 4:
				return "another", nil
			}
			return nonce, nil
		})
		start := time.Now()
		_, err := Run(t.Context(), []Client{client}, options(func(o *Options) {
			o.Rate, o.Calls, o.Observe = 100, 4, func(c Call) { calls = append(calls, c) }
		}))
		if err != nil {
			t.Fatal(err)
		}
		at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
		want := []Call{
			{Due: at(0), From: at(0), Done: at(15)},
			{Due: at(10), From: at(10), Done: at(15)},
			{Due: at(20), From: at(20), Done: at(20), Outcome: Failed, Err: refused},
			{Due: at(30), From: at(30), Done: at(30), Outcome: Crosstalk},
		}
		if !slices.Equal(calls, want) {
			t.Errorf("observed\n%+v, want\n%+v", calls, want)
		}
	})
}

func TestCallBeyondItsTimeoutIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := Run(t.Context(), []Client{takes(time.Hour)}, options(func(o *Options) { o.Calls = 3 }))
		if err != nil {
			t.Fatal(err)
		}
		if want := (Counts{Sent: 3, Lost: 3}); r.Counts != want || r.Took != 3*time.Second {
			t.Errorf("counts = %+v after %v, want %+v after 3s", r.Counts, r.Took, want)
		}
		if r.Errors[context.DeadlineExceeded.Error()] != 3 {
			t.Errorf("errors = %v", r.Errors)
		}
	})
}

func TestWarmupIsCheckedButNotTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		client := clientFunc(func(ctx context.Context, n Nonce) (Nonce, error) {
			calls++
			if calls <= 5 {
				return takes(500*time.Millisecond)(ctx, n)
			}
			return takes(time.Millisecond)(ctx, n)
		})
		r, err := Run(t.Context(), []Client{client}, options(func(o *Options) {
			o.Calls, o.Warmup = 20, 5
		}))
		if err != nil {
			t.Fatal(err)
		}
		if r.Counts.OK != 20 || r.Latency.TotalCount() != 15 || r.Quantile(1) > 2*time.Millisecond {
			t.Errorf("ok = %d, timed %d, longest %v; want 20, 15, 1ms", r.Counts.OK, r.Latency.TotalCount(),
				r.Quantile(1))
		}
	})
}

func TestErrorTextsAreBounded(t *testing.T) {
	client := clientFunc(func(_ context.Context, n Nonce) (Nonce, error) {
		return "", errors.New("about " + string(n))
	})
	r, err := Run(t.Context(), []Client{client}, options(func(o *Options) {}))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Errors) != maxErrorTexts+1 || r.Errors["other errors"] != 100-maxErrorTexts {
		t.Errorf("errors = %v", r.Errors)
	}
}

func TestOptionsNameEveryMistake(t *testing.T) {
	_, err := Run(t.Context(), nil, Options{Rate: -1, Warmup: 1})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"clock", "clients", "workers", "rate", "calls", "for",
		"timeout", "warmup"} {
		if !strings.Contains(err.Error(), want+":") {
			t.Errorf("error %q does not name %s", err, want)
		}
	}
}

// skewed wakes sleepers late, as a busy machine does.
type skewed struct{ late time.Duration }

func (skewed) Now() time.Time { return time.Now() }
func (s skewed) AfterFunc(d time.Duration, f func()) clock.Timer {
	return clock.System.AfterFunc(d+s.late, f)
}

// Delays of the machine before a call are separate from the latency of the server.
func TestLateWakingIsNotLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(func(o *Options) { o.Rate, o.Clock = 10, skewed{3 * time.Millisecond} })
		r, err := Run(t.Context(), []Client{takes(time.Millisecond)}, o)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Quantile(1).Round(time.Millisecond); got != time.Millisecond ||
			r.Late != 3*time.Millisecond || r.Waited != 0 {
			t.Errorf("longest = %v, late = %v, waited = %d, want 1ms, 3ms, 0", got, r.Late, r.Waited)
		}
	})
}

// A worker needs little memory of its own, so that many callers of many tenants are affordable.
func TestWorkersTakeLittleMemory(t *testing.T) {
	const workers, each = 2000, 16 << 10 // bytes
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := Run(t.Context(), []Client{takes(0)}, options(func(o *Options) {
		o.Workers, o.Calls = workers, workers
	}))
	runtime.ReadMemStats(&after)
	if err != nil || r.Counts.OK != workers || r.Latency.TotalCount() != workers {
		t.Fatalf("%v, %v, %d timed", err, r.Counts, r.Latency.TotalCount())
	}
	histograms := uint64(runtime.GOMAXPROCS(0)+1) * uint64(r.Latency.ByteSize())
	if took := after.TotalAlloc - before.TotalAlloc; took > histograms+workers*each {
		t.Errorf("%d workers took %d bytes, of which %d are histograms' to take", workers,
			took, histograms)
	}
	t.Logf("a histogram takes %d bytes", r.Latency.ByteSize())
}

// A call that waited for longer than any timeout still counts, as one of the longest.
func TestLatenciesBeyondTheHistogramCount(t *testing.T) {
	l := latencies{all: newHistogram()}
	l.add(2 * MaxTimeout)
	if got := time.Duration(l.all.Max()); l.all.TotalCount() != 1 || got < MaxTimeout*99/100 {
		t.Errorf("%d calls, the longest of %v", l.all.TotalCount(), got)
	}
}
