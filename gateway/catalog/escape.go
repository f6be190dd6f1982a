package catalog

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// atomEscape parses what follows a backslash outside of square brackets.
func (p *patternParser) atomEscape() bool {
	switch {
	case p.take("k<"):
		name, ok := p.name()
		p.references = append(p.references, name)
		return ok
	case p.rest != "" && p.rest[0] >= '1' && p.rest[0] <= '9':
		digits, _ := p.number()
		n, err := strconv.Atoi(digits)
		p.highestReference = max(p.highestReference, n)
		return err == nil
	}
	_, _, ok := p.escape()
	return ok
}

// escape parses what follows a backslash anywhere: a character, or a set of characters.
func (p *patternParser) escape() (char rune, set, ok bool) {
	switch c := p.next(); c {
	case 'd', 'D', 's', 'S', 'w', 'W':
		return 0, true, true
	case 'p', 'P':
		return 0, true, p.property()
	case 't':
		return '\t', false, true
	case 'n':
		return '\n', false, true
	case 'v':
		return '\v', false, true
	case 'f':
		return '\f', false, true
	case 'r':
		return '\r', false, true
	case '0':
		return 0, false, p.rest == "" || p.rest[0] < '0' || p.rest[0] > '9'
	case 'c':
		letter := p.next()
		return letter % 32, false, letter < unicode.MaxASCII && unicode.IsLetter(letter)
	case 'x':
		char, ok = p.hex(2)
		return char, false, ok
	case 'u':
		char, ok = p.codePoint()
		return char, false, ok
	default:
		return c, false, strings.ContainsRune(`^$\.*+?()[]{}|/`, c)
	}
}

// hex parses the given number of hexadecimal digits.
func (p *patternParser) hex(digits int) (rune, bool) {
	if len(p.rest) < digits {
		return 0, false
	}
	n, err := strconv.ParseUint(p.rest[:digits], 16, 32)
	p.rest = p.rest[digits:]
	return rune(n), err == nil && n <= unicode.MaxRune
}

// codePoint parses what follows \u: digits in braces, four digits, or the two halves of a
// surrogate pair.
func (p *patternParser) codePoint() (rune, bool) {
	if p.take("{") {
		end := strings.IndexByte(p.rest, '}')
		if end < 1 {
			return 0, false
		}
		n, err := strconv.ParseUint(p.rest[:end], 16, 32)
		p.rest = p.rest[end+1:]
		return rune(n), err == nil && n <= unicode.MaxRune
	}
	char, ok := p.hex(4)
	if ok && utf16.IsSurrogate(char) && strings.HasPrefix(p.rest, `\u`) {
		second := patternParser{rest: p.rest[2:]}
		if low, ok := second.hex(4); ok {
			if pair := utf16.DecodeRune(char, low); pair != unicode.ReplacementChar {
				p.rest = second.rest
				return pair, true
			}
		}
	}
	return char, ok
}

// binaryProperties are the properties of ECMA-262 §22.2.1 that patterns in practice use. A
// pattern with any other property is rejected.
var binaryProperties = []string{
	"ASCII", "Alphabetic", "Alpha", "Any", "Assigned", "Emoji", "Emoji_Presentation",
	"Extended_Pictographic", "ID_Continue", "IDC", "ID_Start", "IDS",
	"Ideographic", "Ideo", "Lowercase", "Lower", "Uppercase", "Upper", "White_Space", "space",
	"XID_Continue", "XIDC", "XID_Start", "XIDS",
}

// categories are the long names of general categories.
var categories = []string{
	"Letter", "Uppercase_Letter", "Lowercase_Letter", "Titlecase_Letter", "Modifier_Letter",
	"Other_Letter", "Mark", "Number", "Decimal_Number",
	"Letter_Number", "Other_Number", "Punctuation", "Symbol", "Math_Symbol", "Currency_Symbol",
	"Separator", "Space_Separator", "Other", "Control",
}

// property parses the name of a Unicode property in braces.
func (p *patternParser) property() bool {
	text, rest, closed := strings.Cut(p.rest, "}")
	p.rest = rest
	text, opened := strings.CutPrefix(text, "{")
	name, value, pair := strings.Cut(text, "=")
	category := func(s string) bool {
		return unicode.Categories[s] != nil && len(s) <= 2 || slices.Contains(categories, s)
	}
	switch {
	case !opened || !closed:
		return false
	case !pair:
		return category(name) || slices.Contains(binaryProperties, name)
	case name == "General_Category" || name == "gc":
		return category(value)
	}
	return slices.Contains([]string{"Script", "sc", "Script_Extensions", "scx"}, name) &&
		unicode.Scripts[value] != nil
}
