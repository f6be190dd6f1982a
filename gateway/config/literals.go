package config

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mcpd/gateway/config/document"
	"mcpd/gateway/tenant"
)

// literal is a text with what another program takes for a variable, and mcpd for plain text.
type literal struct {
	server *tenant.Server
	label  string // of the text, for a message
	form   string // of the variable: its name may be a piece of a password
	at     document.Position
}

// foreignVariables are how others write a variable, as it is told.
var foreignVariables = []struct {
	form    string
	pattern *regexp.Regexp
}{
	{"$NAME", regexp.MustCompile(`\$[A-Za-z_][A-Za-z0-9_]*`)},
	{"{env:NAME}", regexp.MustCompile(`\{env:[A-Za-z_][A-Za-z0-9_]*\}`)},
	{"{{NAME}}", regexp.MustCompile(`\{\{ *[A-Za-z_][A-Za-z0-9_.]* *\}\}`)},
	{"%NAME%", regexp.MustCompile(`%[A-Z_][A-Z0-9_]+%`)},
}

// noteLiteral keeps a text with such a variable until the server's command is known.
func (l *loader) noteLiteral(k *Key, label, raw string, at document.Position, s scope) {
	if !k.Type.vars || s.server == nil {
		return
	}
	own := strings.NewReplacer("$${", "", "${env:", "").Replace(raw) // not what mcpd reads itself
	for _, v := range foreignVariables {
		if v.pattern.MatchString(own) {
			l.literals = append(l.literals, literal{s.server, label, v.form, at})
			return
		}
	}
}

// shells read variables themselves, in what they are given to run.
var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "pwsh", "powershell", "cmd", "cmd.exe", "env", "awk", "perl"}

// doubtLiterals warns of variables that would pass as they are written.
func doubtLiterals(l *loader) {
	for _, x := range l.literals {
		program := path.Base(x.server.Command.Reveal())
		if strings.HasPrefix(x.label, "args") && slices.Contains(shells, program) {
			continue
		}
		l.warn(x.at, quoted("server", x.server.Name)+": "+x.label+" has a variable like "+x.form+" in it",
			"it is passed on as it is written",
			"write ${env:NAME} for a variable of the environment, or leave it if the text is meant")
	}
}
