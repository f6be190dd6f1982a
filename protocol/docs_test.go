package protocol

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

//go:generate go test -run ^TestVersionsAreDocumented$ . -update

var update = flag.Bool("update", false, "rewrite docs/versions.gen.md")

// docs/versions.gen.md lists the version matrix and the method table, row by row.
func TestVersionsAreDocumented(t *testing.T) {
	const file = "../docs/versions.gen.md"
	got := document()
	for f := range Feature(featureCount) {
		if !strings.Contains(got, "| `"+f.String()+"` |") {
			t.Errorf("%v is not documented", f)
		}
	}
	for _, name := range MethodNames() {
		if !strings.Contains(got, "| `"+name+"` |") {
			t.Errorf("%s is not documented", name)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || got != string(want) {
		t.Errorf("%s is not current (%v): run go generate ./protocol", file, err)
	}
}

// said is the text of the page for each cell of the method table.
var said = map[cell]string{
	___: "", c2s: "client", s2c: "server", two: "both", mrt: "in a result", ext: "extension",
}

func document() string {
	var b strings.Builder
	b.WriteString("<!-- Written by go generate ./protocol. Do not edit. -->\n\n# Revisions of " +
		"MCP\n\n" +
		"From the tables in `protocol/features.go`, `protocol/methods.go` and `protocol/errors.go`. A " +
		"test compares the methods with the published\n" +
		"schemas.\n\n## Features\n\n")
	head(&b, "feature")
	for f := range Feature(featureCount) {
		fmt.Fprintf(&b, "| `%v` |", f)
		for _, v := range Versions() {
			b.WriteString(map[bool]string{true: " yes |", false: " |"}[v.Has(f)])
		}
		b.WriteString("\n")
	}
	b.WriteString("\n## Methods\n\n" +
		"A cell says who may send the method. *In a result*: it is no request there, but stands inside " +
		"an `input_required` result. *Extension*: it\n" +
		"belongs to an extension, which has to be declared. The last column is the capability that has " +
		"to be declared, and by whom.\n\n")
	head(&b, "method", "needs")
	for _, name := range MethodNames() {
		m := methods[name]
		fmt.Fprintf(&b, "| `%s` |", name)
		for _, c := range m.route {
			fmt.Fprintf(&b, " %s |", said[c])
		}
		fmt.Fprintf(&b, " %s |\n", needs(m))
	}
	b.WriteString("\n## Errors\n\n" +
		"What a client is told, by condition; `data.reason` always says the word of the first column. " +
		"The status is that of the HTTP response, where\n" +
		"the error is the whole of it.\n\n| condition | legacy | modern | status | recovery " +
		"|\n|---|---|---|---|---|\n")
	for c := range Condition(conditionCount) {
		row := conditions[c]
		fmt.Fprintf(&b, "| `%s` | %d | %d | %d | %v |\n", row.word, row.legacy, row.modern, row.status,
			row.recovery)
	}
	return b.String()
}

// head returns the head of a table with a column for every revision.
func head(b *strings.Builder, first string, last ...string) {
	columns := []string{first}
	for _, v := range Versions() {
		columns = append(columns, v.String())
	}
	columns = append(columns, last...)
	fmt.Fprintf(b, "| %s |\n%s|\n", strings.Join(columns, " | "), strings.Repeat("|---", len(columns)))
}

// needs names the capability that a method needs, and the side that declares it.
func needs(m Method) string {
	if m.needs == "" {
		return ""
	}
	who := map[declarer]string{servers: "server", clients: "client", senders: "sender",
		receivers: "receiver"}[m.declarer]
	return fmt.Sprintf("`%s` of the %s", m.needs, who)
}
