package core

import (
	"context"
	"runtime"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/bench/kit"
	"mcpd/bench/record"
	"mcpd/protocol"
)

const (
	// negotiationGoal bounds the pure part of a client's first message and its answer, and bridgeGoal
	// that of a call and its answer between two eras. Both should be negligible compared with the cost
	// of HTTP. They are only goals, since they depend on the machine.
	negotiationGoal = 10 * time.Microsecond
	bridgeGoal      = 20 * time.Microsecond

	// bridgeAllocations bounds the additional allocations of a call and its answer between two eras,
	// compared with the same call when only the ids are exchanged: fewer than ten. It does not depend
	// on the machine.
	bridgeAllocations = 9
)

// work is something that is timed by itself.
type work struct {
	name string
	do   func() error
	goal time.Duration // 0 for a baseline
}

// firsts are the first messages of both eras.
func firsts() ([]work, error) {
	server, err := protocol.ParseServerCapabilities(jsontext.Value(offering))
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, 1<<12)
	answers := func(answer func(protocol.ServerCapabilities, []byte) ([]byte, error)) func() error {
		return func() error {
			_, err := answer(server, out)
			return err
		}
	}
	return []work{{"initialize", answers(initialize), negotiationGoal},
		{"server/discover", answers(discover), negotiationGoal}}, nil
}

// crossings are calls between the eras, in both directions. Each is translated in one variant, and
// in the other only has its ids exchanged.
func crossings() (list [][2]work, err error) {
	for _, way := range []struct {
		name           string
		client, server protocol.Version
	}{{"legacy to modern", protocol.LatestLegacy, protocol.Latest},
		{"modern to legacy", protocol.Latest, protocol.LatestLegacy}} {
		p, err := newPair(way.name, way.client, way.server)
		if err != nil {
			return nil, err
		}
		out := make([]byte, 0, 1<<13)
		carried := func(bridged bool) func() error {
			return func() error {
				_, err := p.translate(bridged, out)
				return err
			}
		}
		list = append(list, [2]work{{way.name, carried(true), bridgeGoal}, {way.name, carried(false), 0}})
	}
	return list, nil
}

func measureBridge(_ context.Context, r *kit.Run) error {
	one, err := firsts()
	if err != nil {
		return err
	}
	for _, w := range one {
		if _, err := w.measure(r, record.Mcpd); err != nil {
			return err
		}
	}
	two, err := crossings()
	if err != nil {
		return err
	}
	for _, ways := range two {
		var counts [2]record.Measurement
		for i, who := range []string{record.Mcpd, "ids only"} {
			m, err := ways[i].measure(r, who)
			if err != nil {
				return err
			}
			m.Quantity, m.Unit, m.Rounds = "memory asked for", "allocations", nil
			for range kit.ByForm(r, 10, 5) {
				n, err := allocations(ways[i].do)
				if err != nil {
					return err
				}
				m.Rounds = append(m.Rounds, n)
			}
			r.Add(m)
			counts[i] = m
		}
		if err := r.Beyond("allocations beyond ids only", counts[0], counts[1],
			kit.Limits{Gate: bridgeAllocations}); err != nil {
			return err
		}
	}
	return nil
}

// measure times the work, and compares the time with the goal.
func (w work) measure(r *kit.Run, who string) (record.Measurement, error) {
	rounds, err := took(r, w.do)
	m := record.Measurement{
		Scenario: "bridge", Case: w.name, Subject: who, Quantity: "mean", Unit: "µs", Rounds: rounds,
	}
	if err != nil || w.goal == 0 {
		r.Add(m)
		return m, err
	}
	r.Add(m)
	return m, r.Bound("of "+w.goal.String()+" aimed at", m, micros(w.goal), kit.Limits{Goal: 1})
}

// allocations returns the number of allocations of one run of do, rounded down, so that it excludes
// allocations by others.
func allocations(do func() error) (float64, error) {
	const runs = 100
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if err := do(); err != nil { // one-time allocations are done here
		return 0, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		if err := do(); err != nil {
			return 0, err
		}
	}
	runtime.ReadMemStats(&after)
	return float64((after.Mallocs - before.Mallocs) / runs), nil
}
