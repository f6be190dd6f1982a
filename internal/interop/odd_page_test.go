package interop

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

const oddDoc = "../../docs/odd-servers.gen.md"

const oddHead = `<!-- Written by go generate ./internal/interop from what its test saw. Do not edit. -->

# Odd servers

A scripted server for each row, all of them behind one mcpd. The official clients of TypeScript (1.x, which decides), of TypeScript 2.x
in a session of 2026-07-28 with mcpd, and of Go ask each server directly, at ` + "`/SERVER/mcp`" +
	`, and in
the aggregate among all the others. "Same" is what the client gets directly, compared member by member. A client is named where
it sees something else than the first one does; behind it stands the clause that has it so. The column "worse through mcpd" is empty: the test fails otherwise.

The tests of CI run with the race detector and without this one, for its time. Its step ` + "`docs`" + ` runs it, as part of ` + "`make docs`" + `: the step fails
when a row is worse than directly, and when what came through is not what this page says.

`

// compare checks a generated page, or writes it if -update is set.
func compare(t *testing.T, file, page string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(file); err != nil || string(have) != page {
		t.Errorf("%s is not current (%v): run go generate ./internal/interop\nit lacks:\n%s\nand "+
			"has:\n%s",
			file, err, onlyIn(page, string(have)), onlyIn(string(have), page))
	}
}

// onlyIn returns the lines of a page that the other page lacks.
func onlyIn(page, other string) string {
	had := strings.Split(other, "\n")
	return strings.Join(slices.DeleteFunc(strings.Split(page, "\n"), func(line string) bool {
		return slices.Contains(had, line)
	}), "\n")
}

// oddLine is one line of the page.
type oddLine struct {
	over []string
	rest string
}

// oddPage renders the page.
func oddPage(servers []oddServer, saw oddSeen) string {
	var b strings.Builder
	b.WriteString(oddHead)
	count := make([]map[string]bool, len(oddParts))
	for _, s := range servers {
		if count[s.part] == nil {
			count[s.part] = map[string]bool{}
		}
		count[s.part][s.oddRow.name] = true
	}
	b.WriteString("| part | odd servers |\n|---|---|\n")
	for part, title := range oddParts {
		if title != "" {
			fmt.Fprintf(&b, "| %s | %d |\n", title, len(count[part]))
		}
	}
	for part, title := range oddParts {
		if len(count[part]) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n| server | over | odd | sends | asked | direct | through "+
			"`/SERVER/mcp` | through the aggregate | worse through mcpd |\n%s\n",
			title, strings.Repeat("|---", 9)+"|")
		for _, line := range oddLines(part, servers, saw) {
			b.WriteString(strings.Replace(line.rest, "$OVER", strings.Join(line.over, ", "), 1))
		}
	}
	return b.String()
}

// oddLines returns the lines of a part. Transports with equal outcomes share a line.
func oddLines(part int, servers []oddServer, saw oddSeen) (lines []oddLine) {
	for _, s := range servers {
		if s.part != part {
			continue
		}
		for i, a := range s.asks {
			rest := fmt.Sprintf("| %s | $OVER | %s | %s | `%s` | %s |\n", s.oddRow.name, s.odd, s.sends(a),
				strings.TrimSpace(a.method+" "+short(a.params)), strings.Join(cells(s, i, a, saw), " | "))
			rest = strings.ReplaceAll(rest, s.name, "$SERVER")
			at := slices.IndexFunc(lines, func(l oddLine) bool { return l.rest == rest })
			if at < 0 {
				at, lines = len(lines), append(lines, oddLine{rest: rest})
			}
			lines[at].over = append(lines[at].over, s.over)
		}
	}
	return lines
}

// sends returns what the server's script has for an ask, or otherwise its first entry.
func (s oddServer) sends(a oddAsk) string {
	keys := slices.Sorted(maps.Keys(s.says))
	if len(keys) == 0 {
		return ""
	}
	key := keys[max(0, slices.IndexFunc(keys, func(k string) bool {
		return k == a.method || strings.HasPrefix(k, a.method+" ")
	}))]
	text := strings.Join(s.says[key][0].lines(), " ")
	text = strings.TrimPrefix(text, `{"jsonrpc":"2.0","id":$ID,`)
	text = strings.ReplaceAll(text, s.name, "$SERVER")
	if text == "" {
		return "nothing"
	}
	if len(text) > 100 {
		text = text[:100] + "…"
	}
	return "`" + strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ", "\t",
		" ").Replace(strings.ToValidUTF8(text, "\uFFFD")) + "`"
}

func short(s string) string { return cell30(strings.ReplaceAll(s, "|", `\|`)) }

func cell30(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}

// cells returns the outcome of each way, and the ways in which mcpd is worse.
func cells(s oddServer, i int, a oddAsk, saw oddSeen) []string {
	of := func(way string) string {
		var first string
		var others []string // of clients with a different outcome
		for _, client := range oddClients {
			by := saw[client][s.name]
			got, direct := by[way][i], by[oddDirect][i]
			text := shown(got)
			if way != oddDirect && direct.Failed == "" && worse(direct, got) == "" {
				text = "same"
			}
			if client == oddClients[0] {
				first = text
			} else if text != oddCannot && text != first {
				if client == "TypeScript 2" && way != oddDirect && text != "same" && a.modern.because != "" {
					text += " (" + a.modern.because + ")"
				}
				others = append(others, client+": "+text)
			}
		}
		if others == nil {
			return first
		}
		return oddClients[0] + ": " + first + "; " + strings.Join(others, "; ")
	}
	aggregate := of(oddAggregate)
	if a.notAggregate {
		aggregate = "–"
	}
	var bad []string
	for _, client := range oddClients {
		for _, way := range []string{oddThrough, oddAggregate} {
			if reason := a.wrong(client, way, saw[client][s.name], i); reason != "" {
				bad = append(bad, client+", "+way+": "+reason)
			}
		}
	}
	return []string{of(oddDirect), of(oddThrough), aggregate, strings.Join(bad, "; ")}
}

// shown formats an outcome for a cell.
func shown(o oddOutcome) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(o.String())
}
