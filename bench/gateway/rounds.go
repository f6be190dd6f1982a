package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"mcpd/bench/kit"
	"mcpd/bench/record"
	"mcpd/internal/clock"
	"mcpd/internal/load"
)

// target is a process that answers calls.
type target struct {
	name    string
	process interface { // whose CPU time is counted
		Usage(collected bool) (kit.Usage, error)
	}
	url    string
	tool   string
	modern bool
	pad    string // text that is added to each nonce
	// wrap returns a client to be used instead of the session. Nil uses the session itself.
	wrap func(*load.Session) load.Client

	clients []load.Client
	close   []func() error
}

// open opens the sessions that call the target.
func (t *target) open(ctx context.Context, sessions int) error {
	for range sessions {
		s, err := load.Connect(ctx, load.SessionOptions{
			URL: t.url, Tool: t.tool, Argument: "message", Modern: t.modern,
		})
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		t.close = append(t.close, func() error { return s.Close(context.WithoutCancel(ctx)) })
		switch {
		case t.wrap != nil:
			t.clients = append(t.clients, t.wrap(s))
		case t.pad == "":
			t.clients = append(t.clients, s)
		default:
			t.clients = append(t.clients, padded{s, t.tool, t.pad})
		}
	}
	return nil
}

func (t *target) shut() (err error) {
	for _, end := range t.close {
		err = errors.Join(err, end())
	}
	t.clients, t.close = nil, nil
	return err
}

// padded makes each message longer, and removes the addition from its echo.
type padded struct {
	session   *load.Session
	tool, pad string
}

// Call implements load.Client.
func (p padded) Call(ctx context.Context, nonce load.Nonce) (load.Nonce, error) {
	text, err := p.session.Ask(ctx, "tools/call",
		`{"name":"`+p.tool+`","arguments":{"message":"`+string(nonce)+p.pad+`"}}`)
	if n := len(text) - len(p.pad); n >= 0 && text[n:] == p.pad {
		text = text[:n]
	}
	return load.Nonce(text), err
}

// trial says how the targets of one case are measured.
type trial struct {
	scenario, title string
	sessions        int
	rate            float64 // calls a second; 0 is as fast as possible
	targets         []*target
}

// The quantities of a trial.
const (
	cpuPerCall = "CPU per call"
	throughput = "throughput"
	p50        = "p50"
	p99        = "p99"
)

// figures are the measurements of a trial, by target and quantity.
type figures map[string]map[string]*record.Measurement

func (f figures) of(target, quantity string) record.Measurement { return *f[target][quantity] }

// rounds is how often each target is measured, and span is the length of each round. Rounds differ
// more because of the machine than because of their length, so that many short rounds give a
// narrower interval than few long ones.
func rounds(r *kit.Run) int { return kit.ByForm(r, 25, load.MinPairs) }

func span(r *kit.Run) time.Duration { return kit.ByForm(r, time.Second, 400*time.Millisecond) }

// run opens the sessions, warms up, and measures the targets in turn. Every second round has the
// reverse order, so that a drift of the machine favours no target.
func (t trial) run(ctx context.Context, r *kit.Run) (figures, error) {
	r.Say("%s: %s", t.scenario, t.title)
	all := figures{}
	latencies := map[string]*hdrhistogram.Histogram{}
	calls := map[string]*load.Counts{}
	var err error
	defer func() {
		for _, target := range t.targets {
			_ = target.shut() // its process ends as well
		}
	}()
	for _, target := range t.targets {
		if err := target.open(ctx, t.sessions); err != nil {
			return nil, err
		}
		if _, _, err = t.measure(ctx, r, target, 0,
			kit.ByForm(r, time.Second, 200*time.Millisecond)); err != nil {
			return nil, err
		}
		all[target.name], calls[target.name] = map[string]*record.Measurement{}, &load.Counts{}
		for quantity, unit := range map[string]string{cpuPerCall: "µs", throughput: "calls/s", p50: "µs",
			p99: "µs"} {
			all[target.name][quantity] = &record.Measurement{
				Scenario: t.scenario, Case: t.title, Subject: target.name, Quantity: quantity, Unit: unit,
				Calls: calls[target.name],
			}
		}
	}
	for round := range rounds(r) {
		for i := range t.targets {
			if round%2 == 1 {
				i = len(t.targets) - 1 - i
			}
			target := t.targets[i]
			result, cpu, err := t.measure(ctx, r, target, 1+round*len(t.targets)+i, span(r))
			if err != nil {
				return nil, err
			}
			f := all[target.name]
			for quantity, value := range map[string]float64{
				cpuPerCall: cpu, throughput: result.Throughput(),
				p50: micro(result.Quantile(0.5)), p99: micro(result.Quantile(0.99)),
			} {
				f[quantity].Rounds = append(f[quantity].Rounds, value)
			}
			add(calls[target.name], result.Counts)
			if latencies[target.name] == nil {
				latencies[target.name] = result.Latency
			} else {
				latencies[target.name].Merge(result.Latency)
			}
		}
	}
	for _, target := range t.targets {
		f := all[target.name]
		if f[p50].Histogram, err = kit.Encode(latencies[target.name]); err != nil {
			return nil, err
		}
		for _, quantity := range []string{cpuPerCall, throughput, p50, p99} {
			r.Add(*f[quantity])
		}
	}
	return all, nil
}

func micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func add(to *load.Counts, c load.Counts) {
	to.Sent += c.Sent
	to.OK += c.OK
	to.Failed += c.Failed
	to.Lost += c.Lost
	to.Crosstalk += c.Crosstalk
	to.Duplicate += c.Duplicate
}

// maxWorkers is the largest number of callers, each of which uses one session.
const maxWorkers = 1024

// rarely bounds the failures of ReverseProxy: at most one of so many calls may fail. Now and then
// it cuts off a response (observed: one of 1,300 of 16 KiB), which must not fail the whole run. The
// failures are counted.
const rarely = 100

// usable reports whether a result can be used: a target that answers with errors is not fast.
func usable(name string, r load.Result) bool {
	c := r.Counts
	return r.Clean() || name == proxy && c.Lost+c.Crosstalk+c.Duplicate == 0 &&
		c.Failed*rarely <= c.Sent
}

// measure puts load on a target. It returns the result, and the CPU time of the target's process
// for each call in µs. A failed call ends the trial.
func (t trial) measure(ctx context.Context, r *kit.Run, target *target, number int,
	during time.Duration) (load.Result, float64, error) {
	before, err := target.process.Usage(false)
	if err != nil {
		return load.Result{}, 0, err
	}
	result, err := load.Run(ctx, target.clients, load.Options{
		Clock: clock.System, Run: uint64(number), Workers: min(t.sessions, maxWorkers), Rate: t.rate,
		Calls: load.MaxCalls, For: during,
		Timeout: kit.Patience,
	})
	if err != nil {
		return load.Result{}, 0, err
	}
	if !usable(target.name, result) {
		return load.Result{}, 0, fmt.Errorf("%s: %+v %v", target.name, result.Counts, result.Errors)
	}
	after, err := target.process.Usage(false)
	return result, (after.CPU - before.CPU) / float64(result.Counts.Sent) * 1e6, err
}
