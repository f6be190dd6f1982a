package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mcpd/bench/kit"
	"mcpd/bench/record"
	"mcpd/internal/clock"
	"mcpd/internal/load"
)

// Names and units of the measurements.
const (
	heapObjects = "heap objects per call"
	heapBytes   = "heap bytes per call"
)

// counted is the number of calls in a round. The cost of the two readings is divided by it.
const counted = 500

// heapLimits apply to every kind of server.
var heapLimits = map[string]kit.Limits{
	heapObjects: {Gate: 45, Goal: 30},
	heapBytes:   {Gate: 4500, Goal: 3000},
}

var callHeap = kit.Scenario{
	Name: "call-heap", Title: "What a call puts on the heap",
	Description: "tools/call as in call-stdio and call-http, by one session over one connection " +
		"that is " +
		"kept, one call after the other. " +
		"Counted is all that the process between has put on its heap from before the first of 500 " +
		"calls until after the last, " +
		"whoever in it did so. A count is no time: it is judged by itself, and beside it is that of " +
		"the relay.",
	Measure: func(ctx context.Context, r *kit.Run) error {
		return errors.Join(
			measureHeap(ctx, r, "program", startStdio),
			measureHeap(ctx, r, "HTTP", startHTTP),
		)
	},
}

// measureHeap counts the allocations of calls to one kind of server, in mcpd and in the relay.
func measureHeap(ctx context.Context, r *kit.Run, to string,
	start func(context.Context, *processes) ([]*target, error)) (err error) {
	r.Say("call-heap: %s", to)
	var all processes
	defer func() { err = errors.Join(err, all.stop()) }()
	targets, err := start(ctx, &all)
	if err != nil {
		return err
	}
	for _, target := range targets {
		if target.name != record.Mcpd && target.name != limit {
			continue
		}
		if err := target.heap(ctx, r, to); err != nil {
			return fmt.Errorf("%s, %s: %w", to, target.name, err)
		}
	}
	return nil
}

// heap counts the allocations of calls of a target. It does not count the first calls, which
// allocate caches.
func (t *target) heap(ctx context.Context, r *kit.Run, to string) (err error) {
	if err := t.open(ctx, 1); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.shut()) }()
	m := record.Measurement{Scenario: "call-heap", Case: to, Subject: t.name, Calls: &load.Counts{}}
	objects, bytes := m, m
	objects.Quantity, objects.Unit = heapObjects, "objects"
	bytes.Quantity, bytes.Unit = heapBytes, "B"
	for round := range 1 + load.MinPairs {
		each, counts, err := t.allocated(ctx, round)
		if err != nil {
			return err
		}
		if round == 0 {
			continue
		}
		objects.Rounds, bytes.Rounds = append(objects.Rounds, each.Objects), append(bytes.Rounds,
			each.Allocated)
		add(m.Calls, counts)
	}
	for _, m := range []record.Measurement{objects, bytes} {
		r.Add(m)
		if t.name != record.Mcpd {
			continue
		}
		if err := r.Count(m.Quantity, m, heapLimits[m.Quantity]); err != nil {
			return err
		}
	}
	return nil
}

// allocated returns the allocations of each call of a round in the target's process.
func (t *target) allocated(ctx context.Context, round int) (each kit.Usage, counts load.Counts,
	err error) {
	before, err := t.process.Usage(false)
	if err != nil {
		return each, counts, err
	}
	result, err := load.Run(ctx, t.clients, load.Options{
		Clock: clock.System, Run: uint64(round), Workers: 1, Calls: counted, For: time.Minute,
		Timeout: kit.Patience,
	})
	if err != nil {
		return each, counts, err
	}
	if !result.Clean() || result.Counts.Sent != counted {
		return each, counts, fmt.Errorf("%+v %v", result.Counts, result.Errors)
	}
	after, err := t.process.Usage(false)
	return after.Minus(before, counted), result.Counts, err
}
