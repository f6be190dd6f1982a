package config

import (
	"fmt"
	"strings"

	"mcpd/gateway/tenant"
)

// dialect is the syntax of environment variables in a text.
type dialect uint8

const (
	// ${env:NAME} and ${env:NAME:-default}; $${ stands for ${
	native dialect = iota
	// ${NAME} and ${NAME:-default} too, as in the mcpServers of other clients
	foreign
)

// expand replaces the variables of a text once. The value of a variable is not expanded again,
// and no shell is involved. shown is the text in native syntax, without the values and defaults
// of variables. names are the variables.
func expand(s string, d dialect, env func(string) (string, bool)) (text, shown string,
	names []string, m *mistake) {
	var out, show strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "${")
		if !ok {
			out.WriteString(s)
			show.WriteString(s)
			return out.String(), show.String(), names, nil
		}
		if literal, escaped := strings.CutSuffix(before, "$"); escaped {
			out.WriteString(literal + "${")
			show.WriteString(before + "${")
			s = rest
			continue
		}
		out.WriteString(before)
		show.WriteString(before)
		inside, rest, ok := strings.Cut(rest, "}")
		if !ok {
			return "", "", nil, &mistake{"a ${ has no }", "close it, or write $${ for a literal ${"}
		}
		if strings.Contains(inside, "${") {
			return "", "", nil, &mistake{
				"a variable is inside another variable", "name one variable and a plain default",
			}
		}
		name, fallback, hasFallback := strings.Cut(inside, ":-")
		name, prefixed := strings.CutPrefix(name, "env:")
		switch {
		case strings.HasPrefix(name, "input:"):
			return "", "", nil, &mistake{
				"an editor can ask its user for an input, but mcpd cannot",
				"set an environment variable and write " + reference(d, "NAME", false),
			}
		case !validEnv(name):
			return "", "", nil, &mistake{
				"the text between ${ and } is not a variable name", "write " + reference(d, "NAME", false),
			}
		case !prefixed && d == native:
			return "", "", nil, &mistake{
				"a variable needs the prefix env: here", "write ${env:NAME}, or $${ for a literal ${",
			}
		}
		value, set := env(name)
		if hasFallback && value == "" {
			value, set = fallback, true
		}
		if !set {
			return "", "", nil, &mistake{
				fmt.Sprintf("the environment has no variable %s", name),
				fmt.Sprintf("set it, or write %s",
					strings.Replace(reference(d, name, true), tenant.Redacted, "default", 1)),
			}
		}
		out.WriteString(value)
		show.WriteString(reference(native, name, hasFallback))
		names = append(names, name)
		s = rest
	}
}

// reference returns a variable in the syntax of a dialect.
func reference(d dialect, name string, fallback bool) string {
	ref := "${"
	if d == native {
		ref += "env:"
	}
	ref += name
	if fallback {
		ref += ":-" + tenant.Redacted
	}
	return ref + "}"
}

// validEnv reports whether a name can be the name of a variable.
func validEnv(name string) bool {
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' && (c < '0' || c > '9' || i == 0) {
			return false
		}
	}
	return name != ""
}
