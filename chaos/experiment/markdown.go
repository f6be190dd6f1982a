package experiment

import (
	"fmt"
	"slices"
	"strings"

	"mcpd/chaos/faults"

	_ "embed"
)

// Example is an experiment that sets nearly every key.
//
//go:embed example.yaml
var Example []byte

// Markdown is the documentation of all experiments, kinds of faults and keys.
func Markdown() []byte {
	var b strings.Builder
	b.WriteString(`<!-- Written by go test ./chaos/experiment -update. Do not edit. -->

# Experiments

An experiment breaks something in a running host on purpose, under load, and looks whether anybody notices but whoever was hurt. The *target* is
the tenant that is hurt, all other tenants are *bystanders*. The host has to be started with ` + "`mcpd serve --chaos`" + `.

Without a configuration such a host is an arena with the tenants acme, globex, initech and umbrella ([config.gen.md](config.gen.md)), to try everything on.
On one terminal ` + "`mcpd serve --chaos`" + `, on another:

` + "```sh" + `
mcpd chaos run --short crash-loop-child hang-request-manager noisy-tenant --report results
` + "```" + `

That ends in a table, and in a page for people in ` + "`results/report.html`" +
		`: [chaos-report.md](chaos-report.md) says how to read both. With ` + "`--short`" + ` the
phases have 5, 5 and 10 seconds: latencies, recovery and figures are not judged then, and a hang is healed before the host finds it out, which takes five
seconds. Without it each experiment takes the time that ` + "`mcpd chaos describe`" +
		` tells, most of them three minutes.

` + "`mcpd chaos list`" + ` shows the experiments that there are, ` + "`mcpd chaos describe`" +
		` tells what one of them does, expects and needs, and
` + "`mcpd chaos plan`" +
		` shows when it would strike and at what, without doing anything. An experiment of your own is a file with a page of YAML, which
is as good as a name: ` + "`mcpd chaos describe --source`" +
		` prints one to begin with. Every mistake in it is told with its line and column.

When faults strike, and at what, is a function of the experiment, the rows of the host and a seed: the same three strike in the same way.
A host is one run's at a time: a second one is refused, with exit code 75, and told which there is.
One whose configuration says ` + "`environment: production`" + ` is broken only with ` +
		"`--i-know`" + `, else refused with exit code 77. The tokens of a host are in a file that
its own user can read, in its runtime directory: run experiments as that user, with the same ` + "`$XDG_RUNTIME_DIR`" + `.
` + "`mcpd chaos replay --seed 7`" +
		` needs no host: it breaks a simulated one, in the same order each time.

On another host than the arena say what its clients are to call, and with which keys. Here both tenants have a server ` + "`everything`" + `, whose tool
` + "`echo`" + ` gives back a text. Whatever needs the tools of ` + "`mcpd chaos server`" +
		` is not judged then, and the goals of figures are those of servers that start at once.
A verdict on latencies takes many calls: at 20 a second and with one bystander, phases of ten minutes. With fewer it is unclear.

` + "```sh" + `
mcpd chaos describe --source kill-busy-child >mine.yaml
echo 'load: {rate: 20, tool: everything__echo}' >>mine.yaml
mcpd chaos run --short mine.yaml --target acme --key acme=env:ACME --key globex=@globex.key --report results
` + "```" + `

## An experiment

` + "```yaml\n" + string(Example) + "```" + `

## Those that there are

| name | catalogue | what happens |
|---|---|---|
`)
	library := Library()
	for _, e := range library {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", e.Name, strings.Join(e.CatalogueIDs, " "), e.Title)
	}
	b.WriteString("\n## Kinds of faults\n\nA kind that needs *faults* uses fault points of the " +
		"host: it works on another machine too, and heals when whoever asked for it is gone. One that\n" +
		"needs the *machine* sends signals: the host has to be on this machine, and be our user's. One " +
		"that needs the host to be our *own* kills it:\n" +
		"say with `--start 'mcpd serve --chaos'` how it is started again.\n" +
		"A run that is interrupted, by SIGINT or SIGTERM, heals everything before it ends. After one " +
		"that is killed faults of the host heal by themselves\n" +
		"within ten seconds; a process that was stopped stays so until the host replaces it, or " +
		"somebody sends it SIGCONT, and so do other faults of the *machine*.\n" +
		"Those that *contend* take cores, memory or descriptors that bystanders need too.\n\n" +
		"| kind | catalogue | aimed at | needs | what it does |\n|---|---|---|---|---|\n")
	for _, k := range faults.Kinds {
		is := k.Description
		if k.Contends {
			is += "; it contends"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", k.Name, strings.Join(k.CatalogueIDs, " "),
			aims[k.Aim].label, strings.Join(needWords(k.Needs), ", "), cell(is))
	}
	b.WriteString("\n| parameter | value | default | what |\n|---|---|---|---|\n")
	for _, k := range faults.Kinds {
		for _, p := range k.Params {
			fmt.Fprintf(&b, "| `%s` `%s` | %s | %s | %s |\n", k.Name, p.Name, cell(p.Want()),
				code(p.Default), cell(p.Description))
		}
	}
	b.WriteString("\n## Keys\n\nTimes are written like `90s` or `1m30s`, sizes like `4MiB`. In " +
		"patterns of paths `*` stands for one name, `**` at the end for all that is below too,\n" +
		"and `{target}` for the target's name; quote them.\n\n| key | value | default | what " +
		"|\n|---|---|---|---|\n")
	for _, r := range Keys() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Path, cell(r.Want), code(r.Default), cell(r.Doc))
	}
	b.WriteString("\n## Figures\n\nThey are measured where there is something to measure, and held " +
		"against a goal where an experiment has one.\n\n| figure | what |\n|---|---|\n")
	for _, q := range Quantities {
		fmt.Fprintf(&b, "| `%s` | %s |\n", q.Name, cell(q.Description))
	}
	b.WriteString("\n## The fault catalogue\n\nEverything that a host is to survive, and what shows " +
		"that it does: kinds of faults with their experiments, and tests,\n" +
		"each written with the folder of its package. Where there is nothing to survive the last " +
		"column says why.\n\n| fault | what | kinds | experiments | tests |\n|---|---|---|---|---|\n")
	for _, row := range faults.Catalogue {
		var kinds, experiments []string
		for _, k := range faults.Kinds {
			if slices.Contains(k.CatalogueIDs, row.ID) {
				kinds = append(kinds, "`"+k.Name+"`")
			}
		}
		for _, e := range library {
			if slices.Contains(e.CatalogueIDs, row.ID) {
				experiments = append(experiments, "`"+e.Name+"`")
			}
		}
		shown := row.Exempt
		for _, test := range strings.Fields(row.Tests) {
			shown += " `" + test + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", row.ID, row.Description, strings.Join(kinds, " "),
			strings.Join(experiments, " "), strings.TrimSpace(shown))
	}
	return []byte(b.String())
}

func needWords(n faults.Need) (words []string) {
	for _, need := range needs {
		if n&need.need != 0 {
			words = append(words, need.word)
		}
	}
	return words
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
