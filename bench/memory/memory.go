// Package memory measures the memory that idle sessions cost a host, and that the host releases all
// of it.
package memory

import (
	"context"
	"fmt"

	"mcpd/bench/kit"
	"mcpd/bench/record"
	"mcpd/bench/subject"
	"mcpd/internal/load"
)

// Scenarios are the scenarios of this package.
var Scenarios = []kit.Scenario{
	{Name: "session-memory", Title: "What an idle session weighs",
		Description: "Heap and stacks that a legacy session costs after it was initialized over a " +
			"connection " +
			"of its own which stays open, beyond a bare " +
			"net/http server with as many connections; without and with its standing stream. Measured " +
			"after the collector has run.", Measure: measureWeight},
	{Name: "sessions", Title: "Many idle sessions",
		Description: "Sessions without a connection, opened and left alone: a sample of them is asked " +
			"for an " +
			"answer while all are held, " +
			"then all are deleted, and the live heap is compared with what it was before, after a crowd " +
			"as large had come and gone: maps keep their room. Also sessions with their streams open.",
		Measure: measureMany},
}

// config is a host with its built-in server, and a limit of sessions that no crowd reaches.
const config = `{listen: "127.0.0.1:0", admin: {listen: "127.0.0.1:0"}, tenants: {default: {limits: {max_sessions: 200000}, servers: {demo: {builtin: demo}}}}}`

// warm is how many sessions are opened before the first measurement, so that one-time allocations
// do not count.
const warm = 64

const kib = 1 << 10

// weights are the measured uses of a session, with their limits in KiB beyond the bare server.
var weights = []struct {
	name string
	use  sessionUse
	kit.Limits
}{
	{"session", sessionUse{}, kit.Limits{Gate: 8, Goal: 4}},
	{"session with its stream", sessionUse{stream: true}, kit.Limits{Gate: 16, Goal: 8}},
	// By default a legacy session has its own connection to the built-in server after its first call,
	// so that it is not idle.
	{"session that has called", sessionUse{call: true}, kit.Limits{}},
}

func measureWeight(ctx context.Context, r *kit.Run) error {
	n, err := affordable(r, kit.ByForm(r, 10_000, 500))
	if err != nil {
		return err
	}
	for _, w := range weights {
		r.Say("%s: %d at a time", w.name, n)
		of := func(role, argument string, resident *[]float64) func(int) (float64, error) {
			return func(int) (float64, error) {
				u, err := share(ctx, role, argument, n, w.use)
				*resident = append(*resident, u.RSS/kib)
				return u.InUse() / kib, err
			}
		}
		var floor, whole []float64
		bare, host, err := load.Alternate(load.MinPairs, of(subject.Bare, "", &floor),
			of(subject.Host, config, &whole))
		if err != nil {
			return err
		}
		m := record.Measurement{
			Scenario: "session-memory", Case: fmt.Sprintf("%s, %d at a time", w.name, n),
			Quantity: "heap and stacks", Unit: "KiB",
		}
		b := m
		m.Subject, m.Rounds = record.Mcpd, host
		b.Subject, b.Rounds = subject.Bare, bare
		r.Add(m)
		r.Add(b)
		if err := r.Beyond("beyond a bare connection", m, b, w.Limits); err != nil {
			return err
		}
		m.Quantity, b.Quantity, m.Rounds, b.Rounds = "resident", "resident", whole, floor
		r.Add(m)
		r.Add(b)
	}
	return nil
}

// share returns the memory that each of n sessions costs in a process of its own.
func share(ctx context.Context, role, argument string, n int, u sessionUse) (each kit.Usage,
	err error) {
	p, err := kit.Start(ctx, role, argument)
	if err != nil {
		return each, err
	}
	var held []*open
	defer func() {
		for _, h := range held {
			h.close()
		}
		if stopped := p.Stop(); err == nil {
			err = stopped
		}
	}()
	var before, after kit.Usage
	for _, step := range []func() error{
		func() error { return hold(p.URL, warm, u, &held) },
		func() (err error) { before, err = p.Usage(true); return err },
		func() error { return hold(p.URL, n, u, &held) },
		func() (err error) { after, err = p.Usage(true); return err },
	} {
		if err := step(); err != nil {
			return each, err
		}
	}
	return after.Minus(before, float64(n)), nil
}
