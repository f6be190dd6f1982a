package config

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mcpd/gateway/config/document"
	"mcpd/gateway/tenant"
)

// literal is a text with a variable in the syntax of another program, which mcpd takes as plain
// text.
type literal struct {
	server *tenant.Server
	label  string // the name of the text, for a message
	// form is the syntax of the variable. The name itself may be a part of a password.
	form string
	at   document.Position
}

// foreignVariables are the syntaxes of variables in other programs.
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
	if !k.Type.expandsVariables || s.server == nil {
		return
	}
	// Variables that mcpd reads itself do not count.
	own := strings.NewReplacer("$${", "", "${env:", "").Replace(raw)
	for _, v := range foreignVariables {
		if v.pattern.MatchString(own) {
			l.literals = append(l.literals, literal{s.server, label, v.form, at})
			return
		}
	}
}

// shells are programs that expand variables in their arguments themselves.
var shells = []string{
	"sh", "bash", "dash", "zsh", "ksh", "fish", "pwsh", "powershell", "cmd", "cmd.exe", "env", "awk",
	"perl",
}

// warnLiterals warns of variables that would be passed on literally.
func warnLiterals(l *loader) {
	for _, x := range l.literals {
		program := path.Base(x.server.Command.Reveal())
		if strings.HasPrefix(x.label, "args") && slices.Contains(shells, program) {
			continue
		}
		l.warn(x.at, quoted("server", x.server.Name)+": "+x.label+" has a variable like "+x.form+" in it",
			"mcpd passes it on unchanged",
			"write ${env:NAME} for an environment variable, or keep it if the text is meant")
	}
}
