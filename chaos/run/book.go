package run

import (
	"errors"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/go-json-experiment/json"

	"mcpd/chaos/record"
	"mcpd/internal/load"
	"mcpd/protocol"
)

// book is the account of one tenant's calls, by phase and by second.
type book struct {
	tenant, role string
	rate         float64
	begun        time.Time
	ends         []time.Duration // of the phases, in their order

	mu      sync.Mutex // guards the fields below
	phases  map[string]*tally
	seconds []second
	errors  map[string]uint64
	slips   []record.Slip
	bad     []bad // since the fault began
	failed  uint64
	slowest time.Duration // in the baseline
}

// tally is the account of a phase.
type tally struct {
	record.Calls
	latencies *hdrhistogram.Histogram // in microseconds
}

// second is the account of one second.
type second struct {
	sent, ok, failed uint64
	latencies        []float32 // in milliseconds
}

// bad is a call that failed or was slow.
type bad struct {
	due, took time.Duration
	failed    bool
}

// slow is what no call takes that nothing has disturbed.
const slow = 50 * time.Millisecond

var names = []string{record.Baseline, record.Fault, record.Heal}

func newBook(tenant, role string, rate float64, begun time.Time, ends []time.Duration) *book {
	b := &book{tenant: tenant, role: role, rate: rate, begun: begun, ends: ends, phases: map[string]*tally{}, errors: map[string]uint64{}}
	for _, name := range names {
		b.phases[name] = &tally{latencies: hdrhistogram.New(1, int64(load.MaxTimeout/time.Microsecond), 3)}
	}
	return b
}

// observe books one call, in the phase and the second in which it was due.
func (b *book) observe(c load.Call) {
	due, took := max(0, c.Due.Sub(b.begun)), c.Done.Sub(c.From)
	phase := 0
	for phase < len(b.ends)-1 && due >= b.ends[phase] {
		phase++
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for at := int(due / time.Second); len(b.seconds) <= at; {
		b.seconds = append(b.seconds, second{})
	}
	t, s := b.phases[names[phase]], &b.seconds[int(due/time.Second)]
	t.Sent++
	s.sent++
	slip := func(kind string) {
		if len(b.slips) < maxSlips {
			b.slips = append(b.slips, record.Slip{At: due.Seconds(), Kind: kind, Text: text(c.Err)})
		}
	}
	if c.Doubled {
		t.Duplicate++
		slip("duplicate")
	}
	switch c.Outcome {
	case load.OK:
		t.OK++
		s.ok++
		_ = t.latencies.RecordValue(int64(min(took, load.MaxTimeout) / time.Microsecond)) // it is in range
		s.latencies = append(s.latencies, float32(took.Seconds()*1000))
	case load.Failed:
		t.Failed++
		if refused(c.Err) {
			t.Refused++
		}
	case load.Lost:
		t.Lost++
		slip("lost")
	case load.Crosstalk:
		t.Crossed++
		slip("crossed")
	}
	isBad := c.Outcome != load.OK || c.Doubled
	if isBad {
		b.failed++
		if c.Outcome != load.OK {
			s.failed++
		}
		b.note(c.Err)
	}
	switch {
	case phase == 0:
		b.slowest = max(b.slowest, took)
	case isBad || took > slow:
		b.bad = append(b.bad, bad{due, took, isBad})
	}
}

func (b *book) note(err error) {
	text := text(err)
	if _, known := b.errors[text]; !known && len(b.errors) >= maxErrors {
		text = "other errors"
	}
	b.errors[text]++
}

func text(err error) string {
	if err == nil {
		return "the reply was another call's"
	}
	return err.Error()
}

// refusals are the reasons of errors that come instead of the call's beginning.
var refusals = []string{protocol.ConditionRateLimited.String(), protocol.ConditionOverloaded.String(), protocol.ConditionQueueFull.String()}

// refused reports whether an error says that the host has not begun with the call.
func refused(err error) bool {
	if status, ok := errors.AsType[load.StatusError](err); ok {
		return status.Status == http.StatusTooManyRequests || status.Status == http.StatusServiceUnavailable
	}
	answer, ok := errors.AsType[*load.CallError](err)
	if !ok {
		return false
	}
	var data struct {
		Reason string `json:"reason"`
	}
	_ = json.Unmarshal(answer.Data, &data) // without data it is no refusal
	return slices.Contains(refusals, data.Reason)
}

// failures is how many calls have not had exactly the one right answer.
func (b *book) failures() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

// steady is how long after a time the first call was due since which every call was answered, and none was slow: slower than any of the baseline,
// and than those of bystanders in the same second, who tell how busy the machine is.
func (b *book) steady(after time.Duration, bystanders func(at time.Duration) time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := after
	for _, c := range b.bad {
		if c.due > last && (c.failed || c.took > 2*max(slow/2, b.slowest, bystanders(c.due))) {
			last = c.due
		}
	}
	return last - after
}

// longest is how long calls took at most that were due in the second of that time.
func (b *book) longest(at time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := int(at / time.Second); i < len(b.seconds) && len(b.seconds[i].latencies) > 0 {
		return time.Duration(float64(slices.Max(b.seconds[i].latencies)) * float64(time.Millisecond))
	}
	return 0
}

// group is the account as a record has it.
func (b *book) group() record.Group {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := record.Group{Tenant: b.tenant, Role: b.role, Rate: b.rate, Phases: map[string]record.Calls{}, Errors: b.errors, Slips: b.slips}
	for name, t := range b.phases {
		g.Phases[name] = t.calls()
	}
	for at, s := range b.seconds {
		slices.Sort(s.latencies)
		g.Seconds = append(g.Seconds, record.Second{
			At: at, Sent: s.sent, OK: s.ok, Failed: s.failed, P50: quantile(s.latencies, 0.5), P99: quantile(s.latencies, 0.99), Max: quantile(s.latencies, 1),
		})
	}
	g.Blocks = b.blocks()
	return g
}

// perBlock is how many calls a block has at least, so that some of them are above its p99.9.
const perBlock = 2000

// blocks are the parts of the baseline and of the fault with as many calls, with the mutex held. Seconds in which a phase begins or ends belong to
// none.
func (b *book) blocks() (list []record.Block) {
	each := int(math.Ceil(perBlock / b.rate))
	from := time.Duration(0)
	for i, name := range names[:2] {
		first, last := int(math.Ceil(from.Seconds())), int(b.ends[i].Seconds())
		for at := first; at+each <= min(last, len(b.seconds)); at += each {
			var all []float32
			for _, s := range b.seconds[at : at+each] {
				all = append(all, s.latencies...)
			}
			slices.Sort(all)
			list = append(list, record.Block{Phase: name, At: float64(at - first), Calls: uint64(len(all)), P999: quantile(all, 0.999)})
		}
		from = b.ends[i]
	}
	return list
}

func (t *tally) calls() record.Calls {
	c := t.Calls
	at := func(q float64) float64 { return float64(t.latencies.ValueAtQuantile(q)) / 1000 }
	c.P50, c.P90, c.P99, c.P999, c.Max = at(50), at(90), at(99), at(99.9), float64(t.latencies.Max())/1000
	c.Histogram = buckets(t.latencies)
	return c
}

// perDecade is how many bars a histogram has between a latency and ten times that.
const perDecade = 10

// buckets folds a histogram into bars of equal width on a logarithmic scale.
func buckets(h *hdrhistogram.Histogram) []record.Bucket {
	bars := map[int]uint64{}
	for _, bar := range h.Distribution() {
		if bar.Count > 0 {
			bars[int(math.Ceil(perDecade*math.Log10(max(1, float64(bar.To))/1000)))] += uint64(bar.Count)
		}
	}
	list := make([]record.Bucket, 0, len(bars))
	for i, n := range bars {
		list = append(list, record.Bucket{To: math.Round(math.Pow(10, float64(i)/perDecade)*1e5) / 1e5, Calls: n})
	}
	slices.SortFunc(list, func(a, b record.Bucket) int { return int(math.Copysign(1, a.To-b.To)) })
	return list
}

// quantile is what the share q of sorted values does not exceed, 0 of none.
func quantile(sorted []float32, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)])
}
