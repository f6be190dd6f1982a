package parity

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"mcpd/internal/mcptest"
)

// docsPage is the page that a survey of all servers writes.
const docsPage = "../../docs/parity.md"

// page renders the report as a document.
func (r *report) page(t *testing.T) string {
	var b strings.Builder
	b.WriteString(`<!-- Written by make parity from what its test saw. Do not edit. -->

# Parity

Clients of the official SDKs surveyed published servers three ways: directly, through
` + "`/SERVER/mcp`" + `, and through the aggregate of one tenant with all of the servers. A survey
reads every list to its end, calls tools, reads resources, gets prompts, asks for completions,
pings, and asks for what is not there with wrong names and wrong arguments. Where a server offers
them it subscribes to resources, sets the log level and cancels a call; progress, log messages and
updates are part of what came of a request, in their order. What the client saw through mcpd was
compared member by member with what it saw directly, with the released settings of mcpd.

Every difference is of a kind listed below, which says where it may be and which clause has it so.
The test fails when it finds any other, and when it no longer finds one at a place that is listed. Servers marked * are surveyed by
every run of the tests, all of them by ` + "`make parity`" + ` and ` + "`make nightly`" + `.

`)
	fmt.Fprintf(&b, "Clients: %s. ", strings.Join(clients(t), ", "))
	total, differing := 0, 0
	for _, s := range r.all {
		total += r.compared[s.name]
		for _, applied := range r.applied {
			differing += applied[s.name]
		}
	}
	fmt.Fprintf(&b, "Members compared: %d, of which %d differ.\n", total, differing)
	b.WriteString("\n## Servers\n\nThe last column counts differences by the number of their " +
		"kind.\n\n" +
		"| server | package | transport | members compared | differences |\n|---|---|---|---|---|\n")
	for _, s := range r.all {
		fmt.Fprintf(&b, "%s %d | %s |\n", serverRow(t, s), r.compared[s.name], r.counts(s.name))
	}
	b.WriteString("\n## Differences\n\n| | what | where | why it is right | found " +
		"|\n|---|---|---|---|---|\n")
	for i, rule := range rules {
		n := 0
		for _, of := range r.applied[rule.name] {
			n += of
		}
		fmt.Fprintf(&b, "%s %d |\n", ruleRow(i), n)
	}
	b.WriteString("\n## What varies by itself\n\nReplaced on both sides before the comparison:\n\n")
	for _, each := range varying {
		fmt.Fprintf(&b, "- %s\n", each.label)
	}
	return b.String()
}

// serverRow returns the beginning of a server's row. It does not depend on the results of the
// survey.
func serverRow(t *testing.T, s published) string {
	mark := ""
	if s.quick {
		mark = " *"
	}
	return fmt.Sprintf("| %s%s | %s %s | %s |", s.name, mark, s.pkg,
		mcptest.PackageVersion(t, s.pkg), s.kind)
}

func ruleRow(i int) string {
	var cites []string
	for _, c := range rules[i].cites {
		cites = append(cites, c.String())
	}
	return fmt.Sprintf("| %d | %s | %s | %s |", i+1, rules[i].name, rules[i].where(),
		strings.Join(cites, "; "))
}

// counts returns the number of differences of each kind for a server.
func (r *report) counts(server string) string {
	var all []string
	for i, rule := range rules {
		if n := r.applied[rule.name][server]; n > 0 {
			all = append(all, fmt.Sprintf("%d: %d", i+1, n))
		}
	}
	return strings.Join(all, ", ")
}

// clients returns the SDKs with their versions.
func clients(t *testing.T) []string {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	const sdk = "github.com/modelcontextprotocol/go-sdk "
	_, after, _ := strings.Cut(string(mod), sdk)
	goVersion, _, _ := strings.Cut(after, "\n")
	all := []string{"@modelcontextprotocol/sdk", "@modelcontextprotocol/client"}
	for i, name := range all {
		all[i] += " " + mcptest.PackageVersion(t, name)
	}
	return append(all, sdk+goVersion)
}

// The page has exactly the servers, versions and rules of the tables in this package.
func TestPageIsCurrent(t *testing.T) {
	text, err := os.ReadFile(docsPage)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	wants := func(row string) {
		rows++
		if !strings.Contains(string(text), "\n"+row) {
			t.Errorf("docs/parity.md has no row %q: run make parity", row)
		}
	}
	for _, s := range servers(true) {
		wants(serverRow(t, s))
	}
	for i := range rules {
		wants(ruleRow(i))
	}
	for _, each := range clients(t) {
		if !strings.Contains(string(text), each) {
			t.Errorf("docs/parity.md is about another version than %s: run make parity", each)
		}
	}
	const heads = 2 * 2 // two tables with two header lines each
	if got := strings.Count(string(text), "\n| ") +
		strings.Count(string(text), "\n|---"); got != rows+heads {
		t.Errorf("docs/parity.md has %d rows, the tables here have %d: run make parity", got-heads, rows)
	}
}
