package experiment

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"mcpd/gateway/config/units"
)

// Quantity is a quantity that a run can measure and of which an experiment can expect something.
type Quantity struct {
	Name        string // ends in its unit, if it has one
	Unit        string // ms, s, percent, or empty for a count
	Description string // its meaning, as a clause
	// Meanwhile says that the quantity is measured only while a fault lasts.
	Meanwhile bool
}

// Quantities are all quantities, sorted by name. If a kind of fault measures a quantity itself, Is
// names the kind.
var Quantities = []Quantity{
	{Name: "admin_ms", Unit: "ms",
		Description: "from the start of a host that has crashed again and again to an answer of its " +
			"admin " +
			"listener, of host.crash"},
	{Name: "all_back_ms", Unit: "ms",
		Description: "from the end of all processes of a tenant until each of its servers has one " +
			"again, of " +
			"children.kill"},
	{Name: "beyond_ms", Unit: "ms",
		Description: "how much of that is beyond the pauses that the host takes on purpose, of " +
			"children.kill"},
	{Name: "detect_ms", Unit: "ms",
		Description: "from a fault to when the host has found it out: of a row that hangs, and of a " +
			"server that " +
			"is gone", Meanwhile: true},
	{Name: "down_ms", Unit: "ms", Description: "how long a server that was hit was gone"},
	{Name: "end_ms", Unit: "ms",
		Description: "from the end that was asked of a host to its end, of host.term, host.kill and " +
			"host.crash"},
	{Name: "flood_failed", Description: "how many calls of a flood were refused, or failed " +
		"otherwise, of " +
		"load.flood"},
	{Name: "growth_percent", Unit: "percent",
		Description: "how much memory the host comes to keep in an hour of faults, by what it has at " +
			"least in " +
			"the first quarter and the last, where they last half an hour"},
	{Name: "orphans_ms", Unit: "ms",
		Description: "from the end of a host to that of the last of its processes, of the same"},
	{Name: "peak_starts", Description: "how many processes of a tenant were started within a second " +
		"at most, " +
		"of children.kill"},
	{Name: "ready_ms", Unit: "ms",
		Description: "from the start of the next host until it is ready, of the same"},
	{Name: "recovery_s", Unit: "s",
		Description: "from the end of the last fault until the target's calls are as before"},
	{Name: "restart_ms", Unit: "ms",
		Description: "from the end of a row to its next incarnation, for rows that may restart"},
	{Name: "return_s", Unit: "s",
		Description: "how long clients took to be back, each with a stream and an answer, of " +
			"client.return"},
}

// QuantityOf returns the quantity with that name, or false if no run measures it.
func QuantityOf(name string) (Quantity, bool) {
	for _, q := range Quantities {
		if q.Name == name {
			return q, true
		}
	}
	return Quantity{}, false
}

func quantityNames() []string {
	names := make([]string, len(Quantities))
	for i, q := range Quantities {
		names[i] = q.Name
	}
	return names
}

// span converts a value of the quantity to a duration. It returns false if the quantity is no time.
func (q Quantity) span(v float64) (time.Duration, bool) {
	unit, ok := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second}[q.Unit]
	return time.Duration(v * float64(unit)), ok
}

// Unmeasurable lists the figures that the run may not be able to measure, because no fault lasts as
// long as their goals allow. That happens in short forms.
func (e Experiment) Unmeasurable() (lines []string) {
	var longest time.Duration
	for _, f := range e.Faults {
		longest = max(longest, f.lasts(e.Phases.Fault-f.After))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Expect.Figures)) {
		q, _ := QuantityOf(name) // the name was checked by Parse
		if goal, ok := q.span(e.Expect.Figures[name].Goal); ok && q.Meanwhile && goal > longest {
			lines = append(
				lines,
				fmt.Sprintf(
					"%s may not show, nor the restart after it: it may be %s, and no fault lasts longer than %s",
					name, units.FormatSpan(goal), units.FormatSpan(longest),
				),
			)
		}
	}
	return lines
}
