package config

import (
	"fmt"
	"strings"
)

// Markdown returns the documentation of all keys.
func Markdown() []byte {
	var b strings.Builder
	b.WriteString(`<!-- Written by go test ./gateway/config -update. Do not edit. -->

# Configuration

A configuration is one YAML file; JSON is YAML too. ` + "`mcpd config check`" +
		` reports every mistake with its position, ` + "`mcpd config print`" + ` shows
what applies, defaults filled in and secrets left out, and ` + "`mcpd config schema`" +
		` prints a JSON Schema for editors.
Of ` + "`env`, `headers`" + ` and the query of a URL the values are left out, of ` + "`args`" +
		` what is a credential by its name (` + "`--api-key`, `TOKEN=…`" + `), its place or its looks.

The file is the one named by ` + "`--config`" + `, else by the absolute path in ` +
		"`$MCPD_CONFIG`" + `, else the first of ` + "`./mcpd.yaml`, `$XDG_CONFIG_HOME/mcpd/mcpd.yaml`" + `
(or ` + "`~/.config`" + `) and ` + "`/etc/mcpd/mcpd.yaml`" + ` that exists. ` +
		"`mcpd stdio` does not look for `./mcpd.yaml`" +
		`: a client starts it in the project that is open, and a file there may be somebody else's.

A configuration names programs to run, so mcpd refuses one that others can change: a file or a directory above it that is owned by neither root nor
the user of the process, or that everyone may write, or a group that the process is not in. Directories with the sticky bit, as ` + "`/tmp`" + `, may be above
it. The same holds for the directory of the state with what is in it, and for the one of the admin tokens. The error says what to do, for example
` + "`chmod o-w FILE`" + `.

Without a file mcpd runs this:

` + "```yaml\n" + string(embedded) + "```" + `

With ` + "`mcpd serve --chaos`" +
		` and without a file it runs an arena, for experiments ([chaos.gen.md](chaos.gen.md)). The variables are its own
program, a folder below its state, and where that program serves the server behind a URL:

` + "```yaml\n" + string(arena) + "```" + `

In ` + "`command`, `args`, `env`, `cwd`, `url` and `headers`, `${env:NAME}` and " +
		"`${env:NAME:-default}`" + ` stand for variables of mcpd's environment, and
` + "`$${`" + ` for the text itself. Below ` +
		"`mcpServers`, which is as other clients write it, so do `${NAME}` and `${NAME:-default}`" +
		`. A variable that is
not set and has no default is a mistake. Names below ` + "`mcpServers`" +
		` become lower case with dashes. Anchors, aliases and tags are not read.

` + importedMarkdown() + `
Times are written like ` + "`90s` or `1h30m`, sizes like `4MiB`" + `.

`)
	fmt.Fprintf(&b, "## Things with a name\n\n| place | what |\n|---|---|\n")
	for _, p := range places {
		fmt.Fprintf(&b, "| `%s` | %s |\n", p.path, p.doc)
	}
	fmt.Fprintf(&b, "\n## Keys\n\nThe last column says what a reload does with a change: the next "+
		"request sees it (%s), open sessions keep what they had (%s),\n"+
		"the server's connections are replaced (%s), or it is reported and not done (%s).\n\n", AtOnce,
		NewOnes, Replaces, Restart)
	b.WriteString("| key | value | default | example | what | reload |\n|---|---|---|---|---|---|\n")
	for _, k := range table() {
		def := ""
		switch {
		case k.Default != "":
			def = "`" + k.Default + "`"
		case k.From != "":
			def = "as `" + k.From + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | `%s` | %s | %s |\n", k.Path, cell(k.Type.Name), def,
			cell(k.Example), cell(k.Doc), k.Reload)
	}
	return []byte(b.String())
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// importedMarkdown documents the keys of other clients.
func importedMarkdown() string {
	var b strings.Builder
	b.WriteString("Below `mcpServers` these keys of other clients are taken, too. ")
	for _, key := range sortedKeys(aliases) {
		fmt.Fprintf(&b, "`%s` is `%s`. ", key, aliases[key])
	}
	var off []string
	for _, key := range sortedKeys(switches) {
		off = append(off, "`"+key+": "+switches[key]+"`")
	}
	fmt.Fprintf(&b, "A server with %s is left out.\nThese are passed over, with a warning of `mcpd "+
		"config check` that says where: `%s`.\n"+
		"So is every key at the top of a file that has `mcpServers` there and no other key of this "+
		"page.\n",
		strings.Join(off, " or "), strings.Join(passedOver, "`, `"))
	return b.String()
}
