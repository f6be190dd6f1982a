// Package compare decides which quantities became better or worse between two runs of the bench.
// Absolute figures of two runs are not comparable, because the state of the machine differs. The
// package compares the ratios and differences within each run, and amounts of memory, which do not
// depend on the state of the machine.
package compare

import (
	"fmt"
	"slices"

	"mcpd/bench/record"
	"mcpd/internal/load"
)

// Change is the change of a quantity.
type Change string

// The changes of a quantity.
const (
	Better       Change = "better"  // the whole interval is on that side
	Worse        Change = "worse"   // likewise
	Same         Change = "same"    // the interval contains no change, and is within Noticed of it
	Unclear      Change = "unclear" // the interval contains no change, but is wide
	Incomparable Change = "untold"  // there is nothing to compare it with
)

// Noticed is how far, as a factor, an interval around no change may reach for the two to count as
// the same.
const Noticed = 1.1

// Finding is the change of one quantity between both runs.
type Finding struct {
	Scenario, Case, Name string
	Before, After        float64
	Unit                 string // empty for a ratio
	// Change is the factor by which the value has grown. It is unknown without pairs.
	Change load.Estimate
	Is     Change
	Why    string // the reason for Incomparable
}

// Steady are the units of quantities that hardly depend on the load of the machine.
var Steady = []string{"KiB", "B", "allocations", "objects"}

// Compare compares a later run with an earlier one. It returns an error if the runs are not
// comparable at all.
func Compare(earlier, later record.Record) ([]Finding, error) {
	a, b := earlier.Machine, later.Machine
	for _, of := range []struct{ label, a, b string }{
		{"processor", a.CPU, b.CPU}, {"cores", fmt.Sprint(a.Cores), fmt.Sprint(b.Cores)},
		{"memory", fmt.Sprint(a.Memory), fmt.Sprint(b.Memory)}, {"form", form(earlier), form(later)},
	} {
		if of.a != of.b {
			return nil, fmt.Errorf("these runs cannot be compared: the %s was %s and is %s",
				of.label, of.a, of.b)
		}
	}
	list := ratios(earlier, later)
	return append(list, amounts(earlier, later)...), nil
}

func form(r record.Record) string {
	if r.Short {
		return "short"
	}
	return "full"
}

// ratios compares the comparisons within each run, by the ratios of their rounds. The rounds of the
// two runs are not paired.
func ratios(earlier, later record.Record) (list []Finding) {
	for _, c := range later.Comparisons {
		f := Finding{Scenario: c.Scenario, Case: c.Case, Name: c.Name, After: c.Ratio, Unit: c.Unit}
		at := slices.IndexFunc(earlier.Comparisons, func(o record.Comparison) bool {
			return o.Scenario == c.Scenario && o.Case == c.Case && o.Name == c.Name && o.Unit == c.Unit
		})
		if at < 0 {
			f.Is, f.Why = Incomparable, "it is new"
			list = append(list, f)
			continue
		}
		o := earlier.Comparisons[at]
		f.Before = o.Ratio
		f.judge(o.Rounds, c.Rounds, c.LowerBound)
		list = append(list, f)
	}
	return append(list, gone(earlier, later)...)
}

// gone returns the comparisons that the later run lacks.
func gone(earlier, later record.Record) (list []Finding) {
	for _, o := range earlier.Comparisons {
		if !slices.ContainsFunc(later.Comparisons, func(c record.Comparison) bool {
			return o.Scenario == c.Scenario && o.Case == c.Case && o.Name == c.Name && o.Unit == c.Unit
		}) {
			list = append(list, Finding{
				Scenario: o.Scenario, Case: o.Case, Name: o.Name, Unit: o.Unit, Before: o.Ratio,
				Is:  Incomparable,
				Why: "it is not measured any more",
			})
		}
	}
	return list
}

// amounts compares mcpd's memory directly.
func amounts(earlier, later record.Record) (list []Finding) {
	for _, m := range later.Measurements {
		if m.Subject != record.Mcpd || !slices.Contains(Steady, m.Unit) {
			continue
		}
		for _, o := range earlier.Measurements {
			if o.Scenario == m.Scenario && o.Case == m.Case && o.Subject == m.Subject &&
				o.Quantity == m.Quantity && o.Unit == m.Unit {
				f := Finding{
					Scenario: m.Scenario, Case: m.Case, Name: m.Quantity, Unit: m.Unit, Before: middle(o.Rounds),
					After: middle(m.Rounds),
				}
				f.judge(o.Rounds, m.Rounds, false)
				list = append(list, f)
				break
			}
		}
	}
	return list
}

func middle(rounds []float64) float64 {
	sorted := slices.Sorted(slices.Values(rounds))
	if len(sorted) == 0 {
		return 0
	}
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// judge decides by the rounds of both runs. Larger values are worse unless more is set.
func (f *Finding) judge(before, after []float64, more bool) {
	e, err := load.UnpairedRatio(before, after)
	if err != nil {
		f.Is, f.Why = Incomparable, err.Error()
		return
	}
	f.Change = e
	grown, shrunk := e.Low > 1, e.High < 1
	switch {
	case grown && more, shrunk && !more:
		f.Is = Better
	case grown, shrunk:
		f.Is = Worse
	case e.High <= Noticed && e.Low >= 1/Noticed:
		f.Is = Same
	default:
		f.Is = Unclear
	}
}
