package features

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mcpd/internal/mcptest"
)

// docsPage is the page that this test writes.
const docsPage = "../../docs/features.md"

// head is the beginning of the page.
const head = `<!-- Written by make features from what its test saw. Do not edit. -->

# Features between official SDKs

The clients and servers of official SDKs below tried every feature with one another, directly and
through mcpd with its released settings. Servers were served over stdio and over Streamable HTTP with
sessions (stateful) and without (stateless); clients came over Streamable HTTP (http) and through
the command mcpd stdio (stdio). Legacy is 2025-11-25, modern is 2026-07-28. A server that speaks
both was spoken to in one of them.

Where client and server speak the same era, what the client saw through mcpd was compared member by
member with what it saw directly. Where mcpd bridges two eras, it was compared with what the client
of the same SDK in the server's era saw directly (of TypeScript 2 for an SDK that has one era only).

| cell | meaning |
|---|---|
| = | the same |
| = 1, 2 | the same but for the differences with these numbers, which are explained below |
| ∅ | the feature does not work, and does not work directly either |
| | not tried yet |

The test fails at any other difference, and at an explanation that no longer applies.

`

// write puts the results of this run into the page. Cells that this run did not test keep their
// text.
func (r *report) write(t *testing.T) {
	t.Helper()
	old, err := os.ReadFile(docsPage)
	if err == nil {
		err = os.WriteFile(docsPage, []byte(r.page(t, cellsOf(string(old)))), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// page renders the whole page.
func (r *report) page(t *testing.T, old map[string]string) string {
	var b strings.Builder
	b.WriteString(head)
	b.WriteString("| SDK | client | server |\n|---|---|---|\n")
	for _, s := range sdks {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", s.name, version(t, s.client), version(t, s.server))
	}
	for _, c := range clients() {
		fmt.Fprintf(&b, "\n## %s client\n\n| feature |", c)
		for _, s := range servers() {
			fmt.Fprintf(&b, " %s |", s)
		}
		b.WriteString("\n|---" + strings.Repeat("|---", len(servers())) + "|\n")
		for _, name := range rowNames() {
			fmt.Fprintf(&b, "| %s |", name)
			for _, s := range servers() {
				sign := old[place(cell{c, s}, name)]
				if o, ok := r.outcomes[cell{c, s}]; ok {
					sign = o[name].String()
				}
				fmt.Fprintf(&b, " %s |", sign)
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\n## Differences\n\n" + differences())
	return b.String()
}

// place names a cell of the tables.
func place(c cell, feature string) string { return fmt.Sprintf("%s, %s", c, feature) }

// differences renders the table of rules.
func differences() string {
	var b strings.Builder
	b.WriteString("| | what | where | why it is right |\n|---|---|---|---|\n")
	for i, rule := range rules {
		fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", i+1, rule.name, rule.where(), rule.cites)
	}
	return b.String()
}

// rowNames returns the names of the rows of each table.
func rowNames() []string {
	names := []string{greeting}
	for _, f := range features {
		names = append(names, f.name)
	}
	return names
}

// String renders the outcome for the page.
func (o outcome) String() string {
	sign := "="
	if !o.works {
		sign = "∅"
	}
	return noted(sign, o.rules)
}

// noted appends the numbers of rules on the page to a sign.
func noted(sign string, rules []int) string {
	slices.Sort(rules)
	var notes []string
	for _, n := range rules {
		notes = append(notes, fmt.Sprint(n+1))
	}
	return strings.TrimSpace(sign + " " + strings.Join(notes, ", "))
}

// current fails the test if the page differs from the results of this run. The run may have tested
// only some of the cells.
func (r *report) current(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(docsPage)
	if err != nil {
		t.Fatal(err)
	}
	written := cellsOf(string(text))
	for c, outcomes := range r.outcomes {
		for name, o := range outcomes {
			if got := written[place(c, name)]; got != o.String() {
				t.Errorf("%s says %q of %s, %s; it is %q. Run make features", docsPage, got, c, name, o)
			}
		}
	}
	if !strings.HasPrefix(string(text), head) || !strings.HasSuffix(string(text), differences()) {
		t.Errorf("%s is stale. Run make features", docsPage)
	}
}

var (
	title   = regexp.MustCompile(`(?m)^## (.*) client$`)
	numbers = regexp.MustCompile(`(?m)^\| (\d+) \| ([^|]*) \|`)
	note    = regexp.MustCompile(`\d+`)
)

// cellsOf reads the tables of the page and translates the numbers of rules to the current ones.
func cellsOf(page string) map[string]string {
	now := map[string]int{} // index in rules, by the number on the page
	for _, m := range numbers.FindAllStringSubmatch(page, -1) {
		if n := slices.IndexFunc(rules, func(r rule) bool { return r.name == m[2] }); n >= 0 {
			now[m[1]] = n
		}
	}
	cells := map[string]string{}
	var client string
	var servers []string
	for line := range strings.Lines(page) {
		if m := title.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			client, servers = m[1], nil
		}
		fields := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		switch {
		case client == "" || len(fields) < 2:
		case servers == nil:
			servers = fields
		default:
			for i := 1; i < min(len(fields), len(servers)); i++ {
				sign, notes, _ := strings.Cut(strings.TrimSpace(fields[i]), " ")
				var rules []int
				for _, old := range note.FindAllString(notes, -1) {
					if n, ok := now[old]; ok {
						rules = append(rules, n)
					}
				}
				cells[fmt.Sprintf(
					"%s to %s, %s", client, strings.TrimSpace(servers[i]), strings.TrimSpace(fields[0]),
				)] = noted(sign, rules)
			}
		}
	}
	return cells
}

// version returns the name of a package with its pinned version.
func version(t *testing.T, name string) string {
	if strings.HasPrefix(name, "@") {
		return name + " " + mcptest.PackageVersion(t, name)
	}
	text, err := os.ReadFile("../tools/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(regexp.QuoteMeta(name) + ` (v\S+)`).FindStringSubmatch(string(text))
	if m == nil {
		t.Fatalf("the tools module does not have %s", name)
	}
	return name + " " + m[1]
}

// cellsOf finds a cell by client, server and feature, and uses the current numbers of rules.
func TestCellsAreRead(t *testing.T) {
	page := "## Go modern client\n\n| feature | Go stdio legacy | TypeScript 1 stdio legacy " +
		"|\n|---|---|---|\n" +
		"| ping | = 7, 9, 8 | ∅ |\n\n## Differences\n\n| | what |\n|---|---|\n" +
		"| 7 | " + rules[1].name + " | |\n| 8 | " + rules[0].name + " | |\n| 9 | gone | |\n"
	cells := cellsOf(page)
	if cells["Go modern to TypeScript 1 stdio legacy, ping"] != "∅" ||
		cells["Go modern to Go stdio legacy, ping"] != "= 1, 2" {
		t.Errorf("read %q", cells)
	}
}
