package actor

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"mcpd/bench/record"
	"mcpd/internal/load"
)

var measured = flag.String("record", "",
	"records of full runs, a comma between two, of which docs/isolation.gen.md is written: each "+
		"table is of the first that has it")

const isolationDoc = "../../docs/isolation.gen.md"

const isolationHead = `<!-- Written by go test ./bench/actor -run IsolationPage -record FILES. Do not edit. -->

# What bystanders notice

Actors are made to crash while others are called. Each figure is the median of some rounds, behind it the lowest and the highest of them, in µs; the rounds of
all rows of a table were taken in turn, in an order drawn anew each time. The maximum is that of all rounds. The ratio is that of p99 to the row in which nobody is killed, round by round,
with its 95 % interval. To reproduce it:

` + "```sh\nmcpd bench run isolation isolation-host --out isolation.json\ngo test ./bench/actor " +
	"-run IsolationPage -record \"$PWD/isolation.json\"\n```\n"

// isolationPage shows what records have about isolation. Each table comes from the first record
// that has it.
func isolationPage(records ...record.Record) string {
	var b strings.Builder
	b.WriteString(isolationHead)
	for _, s := range Scenarios {
		if s.Name != "isolation" && s.Name != "isolation-host" {
			continue
		}
		for _, r := range records {
			if table := isolationTable(r, s.Name); table != "" {
				fmt.Fprintf(&b, "\n## %s\n\n%s\n\n%s\n\n%s", s.Title, s.Description,
					measuredOn(r, s.Name), table)
				break
			}
		}
	}
	return b.String()
}

// measuredOn says on which machine and when a scenario was measured, and how busy the machine was.
func measuredOn(r record.Record, scenario string) string {
	rounds := 0
	for _, m := range r.Measurements {
		if m.Scenario == scenario {
			rounds = max(rounds, len(m.Rounds))
		}
	}
	beside := fmt.Sprintf("The load average was %.0f when the run began", r.Machine.Load)
	if r.OtherLoad > 0 {
		beside = fmt.Sprintf("Other processes used %.2f of the cores meanwhile", r.OtherLoad)
	}
	calm := "the machine was calm"
	if r.Busy() {
		calm = "the machine was busy with other things, so that ratios say something and absolute " +
			"figures little"
	}
	with := r.Machine.Go
	if r.Machine.Erlang != "" {
		with += ", OTP " + r.Machine.Erlang
	}
	return fmt.Sprintf("Measured in %d rounds on %s with %d cores (%s, %s) on %s. %s: %s.",
		rounds, r.Machine.CPU, r.Machine.Cores, r.Machine.System, with, r.Begun.Format("2006-01-02"),
		beside, calm)
}

// isolationTable returns the table of a scenario, or nothing if the record has no such
// measurements.
func isolationTable(r record.Record, scenario string) string {
	var b strings.Builder
	for _, subject := range []string{record.Mcpd, record.OTP} {
		for _, name := range isolationRows() {
			if row, ok := isolationRow(r, scenario, name, subject); ok {
				b.WriteString(row)
			}
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "| killing | of | kills | calls | failures | p50 | p99 | p99.9 | max | p99 of none " +
		"|\n|---|---|---|---|---|---|---|---|---|---|\n" + b.String()
}

// isolationRows returns the rows of both tables, in their order. A table omits rows that it does
// not have.
func isolationRows() (names []string) {
	for _, k := range kills {
		names = append(names, k.name)
	}
	for _, c := range hostCases() {
		if names = append(names, c.name()); c.worked() {
			names = append(names, c.asCalls())
		}
	}
	return names
}

func isolationRow(r record.Record, scenario, name, subject string) (string, bool) {
	of := map[string]record.Measurement{}
	for _, m := range r.Measurements {
		if m.Scenario == scenario && m.Case == name && m.Subject == subject {
			of[m.Quantity] = m
		}
	}
	calls := of["calls"].Calls
	if calls == nil {
		return "", false
	}
	ratio := ""
	for _, c := range r.Comparisons {
		if c.Scenario == scenario && c.Case == name && c.Name == "p99 of nobody killed, "+subject {
			ratio = fmt.Sprintf("%.2f (%.2f to %.2f)", c.Ratio, c.Low, c.High)
		}
	}
	us := func(q string) string {
		v := slices.Sorted(slices.Values(of[q].Rounds))
		return fmt.Sprintf("%s (%s to %s)", micro((v[(len(v)-1)/2]+v[len(v)/2])/2), micro(v[0]),
			micro(v[len(v)-1]))
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %d | %s | %s | %s | %s | %s |\n", name, subject,
		thousands(int(sum(of["kills"].Rounds))), thousands(int(calls.Sent)),
		calls.Sent-calls.OK, us("p50"), us("p99"), us("p99.9"), micro(slices.Max(of["max"].Rounds)),
		ratio), true
}

func micro(ns float64) string {
	if ns < 100e3 {
		return fmt.Sprintf("%.3g", ns/1e3)
	}
	return thousands(int(ns / 1e3))
}

func TestIsolationPage(t *testing.T) {
	if *measured != "" {
		var records []record.Record
		for file := range strings.SplitSeq(*measured, ",") {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var r record.Record
			if err := json.Unmarshal(data, &r); err != nil {
				t.Fatal(err)
			}
			if r.Short {
				t.Fatalf("%s: a short run has no figures to keep", file)
			}
			records = append(records, r)
		}
		if err := os.WriteFile(isolationDoc, []byte(isolationPage(records...)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(isolationDoc)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range Scenarios {
		if s.Name == "isolation" || s.Name == "isolation-host" {
			if !strings.Contains(string(data), "## "+s.Title+"\n\n"+s.Description+"\n") {
				t.Errorf("the page does not say what %s measures: measure again", s.Name)
			}
		}
	}
	for _, k := range kills {
		if own := k.victim == actorVictim ||
			k.victim == supervisorVictim; own && !strings.Contains(string(data), "| "+k.name+" | mcpd | ") {
			t.Errorf("the page has no row %q: measure again", k.name)
		}
	}
	for _, c := range hostCases() {
		rows := []string{c.name()}
		if c.worked() {
			rows = append(rows, c.asCalls())
		}
		for _, row := range rows {
			if !strings.Contains(string(data), "| "+row+" | mcpd | ") {
				t.Errorf("the page has no row %q: measure again", row)
			}
		}
	}
}

func TestRowsOfIsolationShowFailures(t *testing.T) {
	measurement := func(quantity string, rounds ...float64) record.Measurement {
		return record.Measurement{
			Scenario: "isolation", Case: "none", Subject: record.Mcpd, Quantity: quantity, Rounds: rounds,
		}
	}
	calls := measurement("calls", 600, 700)
	calls.Calls = &load.Counts{Sent: 1300, OK: 1298, Failed: 2}
	r := record.Record{Measurements: []record.Measurement{
		calls, measurement("kills", 3, 4), measurement("p50", 1000, 3000, 2000), measurement("p99", 5e5),
		measurement("p99.9", 5e5), measurement("max", 1e6, 2e6),
	}}
	got, ok := isolationRow(r, "isolation", "none", record.Mcpd)
	const want = "| none | mcpd | 7 | 1,300 | 2 | 2 (1 to 3) | 500 (500 to 500) | 500 (500 to 500) " +
		"| 2,000 |  |\n"
	if !ok || got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if _, ok := isolationRow(r, "isolation", "none", record.OTP); ok {
		t.Error("there is a row of what was not measured")
	}
}
