package report

import (
	"slices"

	"mcpd/bench/record"
	"mcpd/internal/chart"
	"mcpd/internal/load"
)

// Headline is one of the rows that a reader sees first. It names a comparison of the record, and
// the two measurements that are shown with it.
type Headline struct {
	Says  string // the meaning of the figure, in a sentence
	Label string // the same in a few words, for the plot

	Scenario, Case, Name string // of the comparison
	Of, Beside           Side
}

// Side is one measurement of a headline: mcpd's, or the one that it is compared with.
type Side struct {
	Shown    string // the name that readers see; empty for mcpd
	Case     string // empty is the case of the headline
	Subject  string
	Quantity string
}

// Headlines are the rows of docs/benchmarks.md, in their order.
var Headlines = []Headline{
	{
		"Half of all crashed actors answer again within this time.", "crash of an actor, p50, of OTP's",
		"restart", "0 siblings, paced, quiet, by a message", "p50 of OTP's",
		Side{Subject: record.Mcpd, Quantity: "p50"},
		Side{Shown: "OTP", Subject: record.OTP, Quantity: "p50"},
	},
	{
		"99 of 100 crashed actors answer again within this time.", "crash of an actor, p99, of OTP's",
		"restart", "0 siblings, paced, quiet, by a message", "p99 of OTP's",
		Side{Subject: record.Mcpd, Quantity: "p99"},
		Side{Shown: "OTP", Subject: record.OTP, Quantity: "p99"},
	},
	{
		"An idle actor takes this much memory.", "memory of an idle actor, of OTP's",
		"idle", "100,000 actors", "memory of OTP's",
		Side{Subject: record.Mcpd, Quantity: "memory of one"},
		Side{Shown: "OTP", Subject: record.OTP, Quantity: "memory of one"},
	},
	{
		"While an actor crashes each millisecond, 99 of 100 calls of another tenant take no longer " +
			"than this.", "another tenant's p99 under crashes",
		"isolation-host", "every 1 ms, lifted budgets", "p99 of nobody killed, mcpd",
		Side{Subject: record.Mcpd, Quantity: "p99"},
		Side{Shown: "no crashes", Case: "none, lifted budgets", Subject: record.Mcpd, Quantity: "p99"},
	},
	{
		"A server that is a program was killed, and answers again within this time.",
		"kill of a program, of it alone",
		"restart-process", "a program", "of the program alone",
		Side{Subject: record.Mcpd, Quantity: "killed to the next good call"},
		Side{
			Shown: "program alone", Subject: "the program alone", Quantity: "killed to the next good call",
		},
	},
	{
		"A call to a server over HTTP takes this much processor time. The relay only copies it.",
		"CPU of an HTTP call, of the relay's",
		"call-http", "16 sessions", "CPU per call of the relay's",
		Side{Subject: record.Mcpd, Quantity: "CPU per call"},
		Side{Shown: "relay", Subject: "relay", Quantity: "CPU per call"},
	},
	{
		"The same call beside the reverse proxy of Go's library, which knows no MCP.", "",
		"call-http", "16 sessions", "CPU per call of ReverseProxy's",
		Side{Subject: record.Mcpd, Quantity: "CPU per call"},
		Side{Shown: "ReverseProxy", Subject: "ReverseProxy", Quantity: "CPU per call"},
	},
	{
		"A call to a server that is a program takes this much processor time. The relay only renumbers " +
			"it.", "CPU of a stdio call, of the relay's",
		"call-stdio", "16 sessions", "CPU per call of the relay's",
		Side{Subject: record.Mcpd, Quantity: "CPU per call"},
		Side{Shown: "relay", Subject: "relay", Quantity: "CPU per call"},
	},
	{
		"A call to a server over HTTP puts this many objects on the heap.",
		"heap objects of an HTTP call",
		"call-heap", "HTTP", "heap objects per call",
		Side{Subject: record.Mcpd, Quantity: "heap objects per call"},
		Side{Shown: "relay", Subject: "relay", Quantity: "heap objects per call"},
	},
	{
		"A modern call (2026-07-28) to a legacy server (2025-11-25) takes this much processor time.",
		"CPU of a modern call, of a legacy's",
		"call-eras", "HTTP, 16 sessions", "CPU per call, modern, of the legacy one's: legacy server",
		Side{Subject: "modern client, legacy server", Quantity: "CPU per call"},
		Side{Shown: "legacy call", Subject: "legacy client, legacy server", Quantity: "CPU per call"},
	},
	{
		"An idle session with its connection takes this much memory.",
		"memory of a session, of its bound",
		"session-memory", "session, 10000 at a time", "beyond a bare connection",
		Side{Subject: record.Mcpd, Quantity: "heap and stacks"},
		Side{Shown: "bare connection", Subject: "bare", Quantity: "heap and stacks"},
	},
	{
		"This much memory is in use after 100,000 sessions were deleted.",
		"memory after 100,000 sessions",
		"sessions", "100000 sessions, each without a connection", "live heap after they were deleted",
		Side{Subject: record.Mcpd, Quantity: "live heap after"},
		Side{Shown: "before", Subject: record.Mcpd, Quantity: "live heap before"},
	},
}

// in finds the comparison of a headline.
func (h Headline) in(r record.Record) (c record.Comparison, ok bool) {
	i := slices.IndexFunc(r.Comparisons, func(c record.Comparison) bool {
		return c.Scenario == h.Scenario && c.Case == h.Case && c.Name == h.Name
	})
	if i < 0 {
		return c, false
	}
	return r.Comparisons[i], true
}

// measured finds the measurement of a side.
func (h Headline) measured(r record.Record, s Side) (m record.Measurement, ok bool) {
	i := slices.IndexFunc(r.Measurements, func(m record.Measurement) bool {
		kase := s.Case
		if kase == "" {
			kase = h.Case
		}
		return m.Scenario == h.Scenario && m.Case == kase && m.Subject == s.Subject &&
			m.Quantity == s.Quantity
	})
	if i < 0 {
		return m, false
	}
	return r.Measurements[i], true
}

// figured formats a measurement for a headline: the geometric mean of its rounds, as for ratios,
// and its 95 % interval.
func figured(m record.Measurement) string {
	ones := make([]float64, len(m.Rounds))
	for i := range ones {
		ones[i] = 1
	}
	e, err := load.Ratio(ones, m.Rounds)
	if err != nil { // too few rounds, or a round of 0
		return figureOf(m).Median
	}
	return within(quantity(e.Ratio, m.Unit), quantity(e.Low, m.Unit), quantity(e.High, m.Unit))
}

// within formats a quantity with its interval. The unit is written once if all three have the same.
func within(is, low, high string) string {
	if low == high {
		return is
	}
	number, unit := cut(is)
	a, lowUnit := cut(low)
	b, highUnit := cut(high)
	if unit == lowUnit && unit == highUnit && unit != "" {
		return number + chart.Apart + unit + " (" + a + " to " + b + ")"
	}
	return is + " (" + span(low, high) + ")"
}
