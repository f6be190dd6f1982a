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
the effective configuration, with defaults and without secrets, and ` + "`mcpd config schema`" +
		` prints a JSON Schema for editors.
Secrets are all values in ` + "`env`, `headers`" +
		` and the query of a URL, and those of ` + "`args`" +
		` that are credentials by their name (` + "`--api-key`, `TOKEN=…`" + `), place or form.

The file is the one named by ` + "`--config`" + `, else by the absolute path in ` +
		"`$MCPD_CONFIG`" + `, else the first of ` + "`./mcpd.yaml`, `$XDG_CONFIG_HOME/mcpd/mcpd.yaml`" + `
(or ` + "`~/.config`" + `) and ` + "`/etc/mcpd/mcpd.yaml`" + ` that exists. ` +
		"`mcpd stdio` does not look for `./mcpd.yaml`" +
		`: a client starts it in the project that is open, and a file there may belong to a third party.

A configuration names programs to run, so mcpd refuses a file that other users can change. Root or the user of the process must own the file and each
directory above it. Neither everyone nor a group that the process is not in may write them. Directories with the sticky bit, such as ` + "`/tmp`" + `, are
accepted above it. The same rules apply to the state directory with its contents, and to the directory of the admin tokens. The error says what to do, for example
` + "`chmod o-w FILE`" + `.

Without a file, mcpd runs this configuration:

` + "```yaml\n" + string(embedded) + "```" + `

With ` + "`mcpd serve --chaos`" +
		` and without a file, mcpd runs an arena for experiments ([chaos.gen.md](chaos.gen.md)). The variables name the
mcpd program, a folder in the state directory, and the URL at which the program runs a server:

` + "```yaml\n" + string(arena) + "```" + `

In ` + "`command`, `args`, `env`, `cwd`, `url` and `headers`, `${env:NAME}` and " +
		"`${env:NAME:-default}`" + ` stand for variables of mcpd's environment, and
` + "`$${`" + ` for a literal ` +
		"`${`" +
		`. Below ` + "`mcpServers`, which has the format of other clients, `${NAME}` and " +
		"`${NAME:-default}` do too" + `. A variable that
is not set and has no default is a mistake. Names below ` + "`mcpServers`" +
		` are converted to lower case with dashes. Anchors, aliases and tags are not supported.

` + importedMarkdown() + `
Write times like ` + "`90s` or `1h30m`, and sizes like `4MiB`" + `.

`)
	fmt.Fprintf(&b, "## Named entries\n\n| place | what |\n|---|---|\n")
	for _, p := range places {
		fmt.Fprintf(&b, "| `%s` | %s |\n", p.path, p.doc)
	}
	fmt.Fprintf(&b, "\n## Keys\n\nThe last column says how a reload applies a change: the next "+
		"request uses it (%s), open sessions keep the old value (%s),\n"+
		"the server's connections are replaced (%s), or the change is reported but not applied (%s).\n\n",
		AtOnce,
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
	b.WriteString("\nEarlier names are accepted too, with a warning:\n\n")
	for _, r := range renamedKeys {
		fmt.Fprintf(&b, "- `%s` is now `%s`%s\n", r.old, r.now, r.hint)
	}
	return []byte(b.String())
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// importedMarkdown documents the keys of other clients.
func importedMarkdown() string {
	var b strings.Builder
	b.WriteString("Below `mcpServers`, mcpd also accepts these keys of other clients. ")
	for _, key := range sortedKeys(aliases) {
		fmt.Fprintf(&b, "`%s` means `%s`. ", key, aliases[key])
	}
	var off []string
	for _, key := range sortedKeys(disablingKeys) {
		off = append(off, "`"+key+": "+disablingKeys[key]+"`")
	}
	fmt.Fprintf(&b, "A server with %s is left out.\nThese keys are ignored, with a warning of `mcpd "+
		"config check` that says where: `%s`.\n"+
		"In a file that has `mcpServers` at the top and no other key of this page, all other keys at "+
		"the top are ignored too.\n",
		strings.Join(off, " or "), strings.Join(ignoredKeys, "`, `"))
	return b.String()
}
