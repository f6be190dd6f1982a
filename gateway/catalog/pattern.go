package catalog

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
)

// ours turns what JavaScript's regular expressions have and Go's have not into something of the same
// form: whether it is well formed is all that matters here.
var ours = strings.NewReplacer(`(?=`, `(?:`, `(?!`, `(?:`, `(?<=`, `(?:`, `(?<!`, `(?:`)

// escapes are what may stand behind a backslash in a pattern with the flag u, see ECMA-262 §22.2.1.
const escapes = `dDwWsSbBtnvfr0123456789cxukpP^$\.*+?()[]{}|/`

// goodPattern reports whether JavaScript takes a pattern with the flag u, as validators do.
func goodPattern(pattern string) bool {
	var plain strings.Builder // the pattern as Go may read it
	class := false
	for i := 0; i < len(pattern); i++ {
		b := pattern[i]
		switch {
		case b == '\\':
			if i++; i == len(pattern) || strings.IndexByte(escapes, pattern[i]) < 0 && !(class && pattern[i] == '-') {
				return false
			}
			switch e := pattern[i]; {
			case strings.IndexByte(`0123456789cxukpPbB`, e) >= 0:
				plain.WriteByte('a') // what belongs to it follows, and is well formed as a text mostly
				if e == 'k' || e == 'p' || e == 'P' || e == 'u' || e == 'x' {
					i += escaped(pattern[i+1:])
				}
			default:
				plain.WriteByte('\\')
				plain.WriteByte(e)
			}
			continue
		case class:
			class = b != ']'
		case b == '[':
			class = true
			if strings.HasPrefix(pattern[i:], "[]") { // which is nothing in JavaScript
				plain.WriteString(`[a`)
				continue
			}
			if strings.HasPrefix(pattern[i:], "[^]") {
				plain.WriteString(`[^a`)
				i++
				continue
			}
		case b == ']':
			return false
		case b == '(' && strings.HasPrefix(pattern[i:], "(?"):
			rest := pattern[i+2:]
			if rest == "" || strings.IndexByte(":=!<", rest[0]) < 0 {
				return false
			}
		}
		plain.WriteByte(b)
	}
	if quantifierless(plain.String()) {
		return false
	}
	_, err := regexp.Compile(ours.Replace(plain.String()))
	var wrong *syntax.Error
	return err == nil || errors.As(err, &wrong) && (wrong.Code == syntax.ErrInvalidRepeatSize || wrong.Code == syntax.ErrLarge || wrong.Code == syntax.ErrNestingDepth)
}

// escaped is the length of what belongs to an escape: in braces or angle brackets, or two digits or four.
func escaped(rest string) int {
	for _, brackets := range []string{"{}", "<>"} {
		if rest != "" && rest[0] == brackets[0] {
			if end := strings.IndexByte(rest, brackets[1]); end > 0 {
				return end + 1
			}
		}
	}
	return 0
}

// braces are the brackets of quantifiers, and those that are none.
var braces = regexp.MustCompile(`\[(?:\\.|[^\]\\])*\]|\\.|\{\d+(?:,\d*)?\}|[{}]`)

// quantifierless reports whether there is a brace that is no quantifier's, which the flag u does not allow.
func quantifierless(pattern string) bool {
	for _, found := range braces.FindAllString(pattern, -1) {
		if found == "{" || found == "}" {
			return true
		}
	}
	return false
}
