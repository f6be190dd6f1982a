package conformance

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"mcpd/internal/mcptest"
)

// docsPage is the page that the long test writes with -update, and otherwise compares with.
const docsPage = "../../docs/conformance.md"

// page renders the results of all runs as a Markdown document without figures that vary.
func page(t *testing.T, groups [][]*run) string {
	var b strings.Builder
	b.WriteString(`<!-- Written by make conformance UPDATE=-update from what its test saw. Do not edit. -->

# Conformance

The official conformance suite tested servers directly and through mcpd, which spoke to each of
them in either era: legacy is 2025-11-25, modern is 2026-07-28. It also tested mcpd as a client.
What passes directly must pass through mcpd, but for the exceptions at the end. Each of them cites
the clause that explains it, and must still apply: the test fails for one that does not.

- **ok**: passed. A scenario passes when it checked something and has no failure and no warning.
- **-**: fails without mcpd too.
- **A number**: fails through mcpd as that exception says, and in nothing else.

`)
	fmt.Fprintf(&b, "Suite: %s.\n\n| server | what it is |\n|---|---|\n", suitePackage)
	for _, s := range subjects {
		fmt.Fprintf(&b, "| %s | %s |\n", s.name, s.is(t))
	}
	fmt.Fprintf(&b, "| mcpd | %s |\n\n%s.\n", "its built-in server `demo`", changedServers)
	for i, group := range groups {
		fmt.Fprintf(&b, "\n## %s\n\n| scenario |", titles[sets[i].String()])
		for _, r := range group {
			fmt.Fprintf(&b, " %s |", r.name)
		}
		b.WriteString("\n|---|" + strings.Repeat("---|", len(group)) + "\n")
		for _, s := range sets[i].scenarios {
			fmt.Fprintf(&b, "| %s |", s)
			for _, r := range group {
				fmt.Fprintf(&b, " %s |", r.cell(s.name))
			}
			b.WriteString("\n")
		}
		b.WriteString("| **passed** |")
		for _, r := range group {
			fmt.Fprintf(&b, " %d |", r.count())
		}
		b.WriteString("\n")
	}
	b.WriteString("\n## Exceptions\n\n| | clients | run | scenario and checks | why " +
		"|\n|---|---|---|---|---|\n")
	for i := range exceptions {
		b.WriteString(exceptionRow(i) + "\n")
	}
	return b.String()
}

// changedServers describes the differences of the servers in testdata from the published ones.
var changedServers = "The servers of TypeScript 2 and of the suite close a stream in " +
	"`server-sse-polling` and ask clients to come " +
	"back after 500 ms. As published they ask for 5 s, which is all that the suite waits for the " +
	"rest; mcpd is their client, and keeps to " +
	clause{"2025-11-25/basic/transports", "Sending Messages to the Server",
		"clients must respect the `retry` field"}.String()

// titles are the headings of the sets on the page.
var titles = map[string]string{
	legacyServer.String(): "Servers, for clients of 2025-11-25",
	modernServer.String(): "Servers, for clients of 2026-07-28",
	legacyClient.String(): "mcpd as a client of 2025-11-25, for its own clients of each era",
	modernClient.String(): "mcpd as a client of 2026-07-28, for its own clients of each era",
}

// String returns the first cell of the scenario's row.
func (s scenario) String() string {
	if s.scored {
		return s.name
	}
	return s.name + " (not scored)"
}

// cell returns the result of a scenario in this run as the table shows it.
func (r *run) cell(scenario string) string {
	v, _ := r.verdict(r.outcomeOf(scenario))
	if v != excepted {
		return string(v)
	}
	return strings.Trim(fmt.Sprint(r.excepted(scenario)), "[]")
}

// exceptionRow returns a row of the list of exceptions. It does not depend on any results.
func exceptionRow(i int) string {
	e := exceptions[i]
	var fails []string
	for _, name := range slices.Sorted(maps.Keys(e.checks)) {
		fails = append(fails, name+": "+strings.Join(e.checks[name], ", "))
	}
	return fmt.Sprintf("| %d | %s | %s | %s | %s |", i+1, strings.Fields(e.set)[1],
		strings.Join(e.runs, ", "),
		strings.Join(fails, "<br>"), e.clause)
}

// The committed page has the servers, runs, scenarios and exceptions of the tables in this
// package.
func TestPageIsCurrent(t *testing.T) {
	text, err := os.ReadFile(docsPage)
	if err != nil {
		t.Fatal(err)
	}
	wants := []string{"Suite: " + suitePackage + ".\n"}
	for _, s := range subjects {
		wants = append(wants, fmt.Sprintf("| %s | %s |\n", s.name, s.is(t)))
	}
	for _, s := range sets {
		wants = append(wants, "| scenario | "+strings.Join(runNames(s), " | ")+" |\n")
		for _, each := range s.scenarios {
			wants = append(wants, fmt.Sprintf("\n| %s |", each))
		}
	}
	for i := range exceptions {
		wants = append(wants, exceptionRow(i)+"\n")
	}
	for _, want := range wants {
		if !strings.Contains(string(text), want) {
			t.Errorf("docs/conformance.md has no %q: run make conformance UPDATE=-update", want)
		}
	}
	if _, after, _ := strings.Cut(string(text), "\n## Exceptions\n"); strings.Count(after,
		"\n| ") != len(exceptions)+1 {
		t.Errorf("docs/conformance.md has not %d exceptions: run make conformance UPDATE=-update",
			len(exceptions))
	}
}

// subject is a server that the suite tests directly and through mcpd.
type subject struct {
	name  string // first part of the names of its columns
	is    func(t *testing.T) string
	serve func(p programs, t *testing.T, era era) (url string, err error)
}

// subjects are all tested servers except the one that is built into mcpd.
var subjects = []subject{
	{
		"Go", func(t *testing.T) string {
			return "the server of the official Go SDK for the suite: " + sdkServer + " " + sdkVersion(t)
		}, programs.serveGo,
	},
	{
		"TypeScript 2", func(t *testing.T) string {
			return "the server of the official TypeScript SDK for the suite, with " +
				"@modelcontextprotocol/server " +
				mcptest.PackageVersionIn(t, mcptest.SuiteLock, "@modelcontextprotocol/server")
		}, script("testdata/typescript2.mjs"),
	},
	{
		"suite", func(t *testing.T) string {
			return "the suite's own server, with @modelcontextprotocol/sdk " +
				mcptest.PackageVersionIn(t, mcptest.SuiteLock, "@modelcontextprotocol/sdk") +
				" in its legacy era"
		}, script("testdata/suite.mjs"),
	},
}
