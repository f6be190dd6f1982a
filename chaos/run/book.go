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

// callCounts counts the calls of one tenant by phase and by second.
type callCounts struct {
	tenant, role string
	rate         float64
	begun        time.Time
	ends         []time.Duration // the ends of the phases, in their order

	mu      sync.Mutex // guards the fields below
	phases  map[string]*tally
	seconds []second
	errors  map[string]uint64
	slips   []record.Violation
	bad     []bad // since the fault began
	failed  uint64
	slowest time.Duration // in the baseline
}

// tally counts the calls of a phase.
type tally struct {
	record.Calls
	latencies *hdrhistogram.Histogram // in microseconds
}

// second counts the calls of one second.
type second struct {
	sent, ok, failed uint64
	latencies        []float32 // in milliseconds
}

// bad is a call that failed or was slow.
type bad struct {
	due, took time.Duration
	failed    bool
}

// slow is a latency that no undisturbed call reaches.
const slow = 50 * time.Millisecond

var names = []string{record.Baseline, record.Fault, record.Heal}

func newBook(tenant, role string, rate float64, begun time.Time, ends []time.Duration) *callCounts {
	b := &callCounts{
		tenant: tenant, role: role, rate: rate, begun: begun, ends: ends, phases: map[string]*tally{},
		errors: map[string]uint64{},
	}
	for _, name := range names {
		b.phases[name] = &tally{
			latencies: hdrhistogram.New(1, int64(load.MaxTimeout/time.Microsecond), 3),
		}
	}
	return b
}

// observe counts one call in the phase and the second in which it was due.
func (b *callCounts) observe(c load.Call) {
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
			b.slips = append(b.slips, record.Violation{At: due.Seconds(), Kind: kind, Text: text(c.Err)})
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
		// it is in range
		_ = t.latencies.RecordValue(int64(min(took, load.MaxTimeout) / time.Microsecond))
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

func (b *callCounts) note(err error) {
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

// refusals are the reasons of errors with which the host refuses to begin a call.
var refusals = []string{
	protocol.ConditionRateLimited.String(), protocol.ConditionOverloaded.String(),
	protocol.ConditionQueueFull.String(),
}

// refused reports whether an error says that the host has not begun the call.
func refused(err error) bool {
	if status, ok := errors.AsType[load.StatusError](err); ok {
		return status.Status == http.StatusTooManyRequests ||
			status.Status == http.StatusServiceUnavailable
	}
	answer, ok := errors.AsType[*load.CallError](err)
	if !ok {
		return false
	}
	var data struct {
		Reason string `json:"reason"`
	}
	_ = json.Unmarshal(answer.Data, &data) // an error without data is no refusal
	return slices.Contains(refusals, data.Reason)
}

// failures returns how many calls did not have exactly one correct answer.
func (b *callCounts) failures() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

// steady returns the time from after until the target is steady: from then on every call is
// answered and none is slow. A call is slow if it takes longer than 50 ms (slow) and more than
// twice as long as every call of the baseline and every call of bystanders in the same second. The
// bystanders show how busy the machine is.
func (b *callCounts) steady(after time.Duration,
	bystanders func(at time.Duration) time.Duration) time.Duration {
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

// longest returns the greatest latency of the calls that were due in the second of that time.
func (b *callCounts) longest(at time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := int(at / time.Second); i < len(b.seconds) && len(b.seconds[i].latencies) > 0 {
		return time.Duration(float64(slices.Max(b.seconds[i].latencies)) * float64(time.Millisecond))
	}
	return 0
}

// group returns the counts in the form of a record.
func (b *callCounts) group() record.Group {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := record.Group{
		Tenant: b.tenant, Role: b.role, Rate: b.rate, Phases: map[string]record.Calls{}, Errors: b.errors,
		Violations: b.slips,
	}
	for name, t := range b.phases {
		g.Phases[name] = t.calls()
	}
	for at, s := range b.seconds {
		slices.Sort(s.latencies)
		g.Seconds = append(g.Seconds, record.Second{
			At: at, Sent: s.sent, OK: s.ok, Failed: s.failed, P50: quantile(s.latencies, 0.5),
			P99: quantile(s.latencies, 0.99), Max: quantile(s.latencies, 1),
		})
	}
	g.Blocks = b.blocks()
	return g
}

// perBlock is the least number of calls that are due in a block. It is large enough that some calls
// exceed p99.9.
const perBlock = 2000

// blocks cuts the baseline and the fault into blocks with equally many calls. The mutex must be
// held. A second in which a phase begins or ends belongs to no block.
func (b *callCounts) blocks() (list []record.Block) {
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
			list = append(list, record.Block{
				Phase: name, At: float64(at - first), Calls: uint64(len(all)), P999: quantile(all, 0.999),
			})
		}
		from = b.ends[i]
	}
	return list
}

func (t *tally) calls() record.Calls {
	c := t.Calls
	at := func(q float64) float64 { return float64(t.latencies.ValueAtQuantile(q)) / 1000 }
	c.P50, c.P90, c.P99, c.P999, c.Max = at(50), at(90), at(99), at(99.9), float64(t.latencies.Max())/
		1000
	c.Histogram = buckets(t.latencies)
	return c
}

// perDecade is the number of buckets between a latency and ten times that latency.
const perDecade = 10

// buckets folds a histogram into buckets of equal width on a logarithmic scale.
func buckets(h *hdrhistogram.Histogram) []record.Bucket {
	bars := map[int]uint64{}
	for _, bar := range h.Distribution() {
		if bar.Count > 0 {
			bars[int(math.Ceil(perDecade*math.Log10(max(1, float64(bar.To))/1000)))] += uint64(bar.Count)
		}
	}
	list := make([]record.Bucket, 0, len(bars))
	for i, n := range bars {
		list = append(list, record.Bucket{
			To: math.Round(math.Pow(10, float64(i)/perDecade)*1e5) / 1e5, Calls: n,
		})
	}
	slices.SortFunc(list, func(a, b record.Bucket) int { return int(math.Copysign(1, a.To-b.To)) })
	return list
}

// quantile returns the value that the share q of sorted values does not exceed, or 0 if there are
// none.
func quantile(sorted []float32, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)])
}
