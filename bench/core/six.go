// Package core measures the host's own work for a message, without waiting for others. It measures
// the six latencies for which the host's original design set ceilings, as pure functions and
// through the actors that own them. It also measures the answer to a first message, and a call
// between two eras.
package core

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"mcpd/bench/kit"
	"mcpd/bench/record"
	"mcpd/internal/load"
)

// Scenarios are the scenarios of this package.
var Scenarios = []kit.Scenario{
	{Name: "six-pure", Title: "Six latencies as pure functions",
		Description: "What the protocol decides, without anybody waiting: each function alone, " +
			"thousands of " +
			"times in a row, beside the " +
			"ceiling that the first design of the host set for the whole (1 ms, 5 ms, 100 µs, 50 µs, 10 " +
			"µs, 100 µs). The goal is a hundredth of it, and the gate two hundredths.",
		Measure: measurePure},
	{Name: "six-actors", Title: "Six latencies through the actors",
		Description: "The same as somebody sees it who sends an actor a message and waits until it is " +
			"done: " +
			"one at a time, in the process of the host. " +
			"The goal is a tenth of the ceiling, and the gate two tenths. Error translation is what an " +
			"answer that is an error takes longer than one that is not.", Measure: measureThrough},
	{Name: "bridge", Title: "A first message, and a call between two eras",
		Description: "From the bytes of initialize and of server/discover to those of the answer; and " +
			"a call " +
			"and its answer carried from a client of one era to " +
			"a server of the other, beside the same with only the ids exchanged. Actors and transports " +
			"are not in it.", Measure: measureBridge},
}

// latency is one of the six latencies.
type latency struct {
	name    string
	ceiling time.Duration
	// pure returns the function that is timed.
	pure func() (do func() error, err error)
	// through returns a function that measures the latency once through the actor on a stage.
	through func(ctx context.Context, s *stage) (one func() (time.Duration, error), err error)
	// baseline returns the baseline that is subtracted from through. It may be nil.
	baseline func(ctx context.Context, s *stage) (one func() (time.Duration, error), err error)
}

// six are the latencies, with the ceilings of the design (seed 004, section 10).
var six = []latency{
	{name: "version negotiation", ceiling: time.Millisecond, pure: negotiate, through: throughVersion},
	{name: "capability negotiation", ceiling: 5 * time.Millisecond, pure: handshake,
		through: throughHandshake},
	{name: "phase transition", ceiling: 100 * time.Microsecond, pure: transition,
		through: throughPhase},
	{name: "request correlation", ceiling: 50 * time.Microsecond, pure: correlate,
		through: throughCorrelation},
	{name: "error translation", ceiling: 10 * time.Microsecond, pure: translate, through: throughError,
		baseline: throughCorrelation},
	{name: "notification dispatch", ceiling: 100 * time.Microsecond, pure: dispatch,
		through: throughDispatch},
}

// The goals of the latencies, as shares of their ceilings.
const (
	pureShare    = 1.0 / 100
	throughShare = 1.0 / 10
)

// bound is the name of the comparison with the ceiling.
func (l latency) bound() string { return fmt.Sprintf("of its ceiling of %v", l.ceiling) }

// slack is the factor by which a latency may exceed its goal before its gate fails. Ceilings are
// absolute times, and the same build takes half as long again on some machines.
const slack = 2

// batch is how many runs of a pure function are timed together, so that the cost of the clock is
// negligible.
const batch = 200

func measurePure(_ context.Context, r *kit.Run) error {
	for _, l := range six {
		do, err := l.pure()
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		rounds, err := took(r, do)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		m := record.Measurement{
			Scenario: "six-pure", Case: l.name, Subject: record.Mcpd, Quantity: "mean", Unit: "µs",
			Rounds: rounds,
		}
		r.Add(m)
		if err := r.Bound(l.bound(), m, micros(l.ceiling),
			kit.Limits{Gate: slack * pureShare, Goal: pureShare}); err != nil {
			return err
		}
	}
	return nil
}

// took returns the time of one run of do in µs for each round. The value of a round is the median
// of several batches, which excludes interruptions by other processes.
func took(r *kit.Run, do func() error) (rounds []float64, err error) {
	for range kit.ByForm(r, 30, 10) {
		var means []float64
		for range 11 {
			begin := time.Now()
			for range batch {
				if err := do(); err != nil {
					return nil, err
				}
			}
			means = append(means, micros(time.Since(begin))/batch)
		}
		slices.Sort(means)
		rounds = append(rounds, means[len(means)/2])
	}
	return rounds, nil
}

// stageTime bounds everything that happens on a stage. It is many times the usual duration.
const stageTime = 5 * time.Minute

func measureThrough(ctx context.Context, r *kit.Run) error {
	ctx, cancel := context.WithTimeout(ctx, stageTime)
	defer cancel()
	s, err := newStage(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	for _, l := range six {
		if err := l.measureThrough(ctx, r, s); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}

func (l latency) measureThrough(ctx context.Context, r *kit.Run, s *stage) error {
	const rounds = 2 * load.MinPairs
	subject, err := l.through(ctx, s)
	if err != nil {
		return err
	}
	baseline := func() (time.Duration, error) { return 0, nil }
	if l.baseline != nil {
		if baseline, err = l.baseline(ctx, s); err != nil {
			return err
		}
	}
	all, of := newHistogram(), newHistogram()
	each := kit.ByForm(r, 2000, 300)
	base, taken, err := load.Alternate(rounds, sampler(of, each, baseline),
		sampler(all, each, subject))
	if err != nil {
		return err
	}
	m := record.Measurement{
		Scenario: "six-actors", Case: l.name, Subject: record.Mcpd, Quantity: "p50", Unit: "µs",
		Rounds: taken,
	}
	if m.Histogram, err = kit.Encode(all); err != nil {
		return err
	}
	r.Add(m)
	limits := kit.Limits{Gate: slack * throughShare, Goal: throughShare}
	if l.baseline == nil {
		return r.Bound(l.bound(), m, micros(l.ceiling), limits)
	}
	without := m
	without.Subject, without.Rounds = "an answer without an error", base
	if without.Histogram, err = kit.Encode(of); err != nil {
		return err
	}
	r.Add(without)
	share := micros(l.ceiling) * throughShare
	return r.Beyond("beyond an answer without one", m, without, kit.Limits{
		Gate: slack * share, Goal: share,
	})
}

// sampler returns a function that takes the samples of a round and returns their median in µs.
func sampler(all *hdrhistogram.Histogram, each int,
	one func() (time.Duration, error)) func(int) (float64, error) {
	return func(int) (float64, error) {
		h := newHistogram()
		for range each {
			d, err := one()
			if err != nil {
				return 0, err
			}
			_ = h.RecordValue(max(int64(d), 1)) // all durations within kit.Patience are in range
		}
		all.Merge(h)
		return float64(h.ValueAtQuantile(50)) / 1000, nil
	}
}

// newHistogram returns a histogram with a resolution of nanoseconds that has room for all durations
// within kit.Patience.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(2*kit.Patience), 3) }

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
