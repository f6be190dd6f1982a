package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// validPattern reports whether JavaScript accepts a regular expression with the flag u, with which
// validators compile patterns (ECMA-262 §22.2.1). Go's package regexp cannot tell, because it has
// another grammar. A pattern on which engines differ is rejected, for example one with modifiers
// or with two groups of one name.
func validPattern(pattern string) bool {
	if len(pattern) > maxPattern {
		return false
	}
	p := patternParser{rest: pattern, named: map[string]bool{}}
	return p.disjunction(0) && p.rest == "" && p.referencesResolve()
}

// Bounds of patterns. A longer or deeper pattern counts as invalid.
const (
	maxPattern      = 16 << 10
	maxPatternDepth = 100
)

// patternParser parses a regular expression by recursive descent. Its methods parse one
// production of the grammar from the start of rest, and report whether the text is valid.
type patternParser struct {
	rest   string
	groups int // capturing groups so far
	// named has the names of groups.
	named map[string]bool
	// references are the names that are referred to.
	references []string
	// highestReference is the highest group number that is referred to.
	highestReference int
}

func (p *patternParser) referencesResolve() bool {
	for _, name := range p.references {
		if !p.named[name] {
			return false
		}
	}
	return p.highestReference <= p.groups
}

// take consumes a text if it comes next.
func (p *patternParser) take(text string) bool {
	rest, ok := strings.CutPrefix(p.rest, text)
	p.rest = rest
	return ok
}

// next consumes one character; it returns utf8.RuneError at the end.
func (p *patternParser) next() rune {
	r, n := utf8.DecodeRuneInString(p.rest)
	p.rest = p.rest[n:]
	return r
}

// disjunction parses alternatives up to the end, or to the parenthesis that closes a group.
func (p *patternParser) disjunction(depth int) bool {
	for p.rest != "" && p.rest[0] != ')' {
		if p.take("|") {
			continue
		}
		quantifiable, ok := p.term(depth)
		if !ok {
			return false
		}
		if quantified, ok := p.quantifier(); !ok || quantified && !quantifiable {
			return false
		}
	}
	return depth <= maxPatternDepth
}

// term parses an assertion or an atom. Assertions cannot be repeated.
func (p *patternParser) term(depth int) (quantifiable, ok bool) {
	switch c := p.next(); c {
	case '^', '$':
		return false, true
	case '(':
		return p.group(depth)
	case '[':
		return true, p.class()
	case '\\':
		if p.take("b") || p.take("B") {
			return false, true
		}
		return true, p.atomEscape()
	case '*', '+', '?', ']', '{', '}':
		return false, false
	}
	return true, true
}

func (p *patternParser) group(depth int) (quantifiable, ok bool) {
	quantifiable = true
	switch {
	case !p.take("?"):
		p.groups++
	case p.take("="), p.take("!"), p.take("<="), p.take("<!"):
		quantifiable = false
	case p.take(":"):
	case p.take("<"):
		name, ok := p.name()
		if !ok || p.named[name] {
			return false, false
		}
		p.named[name] = true
		p.groups++
	default:
		return false, false
	}
	return quantifiable, depth < maxPatternDepth && p.disjunction(depth+1) && p.take(")")
}

// name parses the name of a group and the bracket after it.
func (p *patternParser) name() (name string, ok bool) {
	name, rest, ok := strings.Cut(p.rest, ">")
	p.rest = rest
	for i, r := range name {
		if r != '$' && r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return "", false
		}
	}
	return name, ok && name != ""
}

// quantifier parses a quantifier if one comes next.
func (p *patternParser) quantifier() (quantified, ok bool) {
	switch {
	case p.take("*"), p.take("+"), p.take("?"):
	case p.take("{"):
		least, ok := p.number()
		if !ok {
			return false, false
		}
		if p.take(",") && !strings.HasPrefix(p.rest, "}") {
			if most, ok := p.number(); !ok || len(most) < len(least) ||
				len(most) == len(least) && most < least {
				return false, false
			}
		}
		if !p.take("}") {
			return false, false
		}
	default:
		return false, true
	}
	p.take("?")
	return true, true
}

// number parses decimal digits and removes leading zeros.
func (p *patternParser) number() (digits string, ok bool) {
	rest := strings.TrimLeft(p.rest, "0123456789")
	digits = p.rest[:len(p.rest)-len(rest)]
	p.rest = rest
	return strings.TrimLeft(digits, "0"), digits != ""
}

// class parses a character class up to its closing bracket. A range is between two characters,
// the lesser first.
func (p *patternParser) class() bool {
	p.take("^")
	for !p.take("]") {
		from, set, ok := p.classAtom()
		if !ok {
			return false
		}
		if !strings.HasPrefix(p.rest, "-") || strings.HasPrefix(p.rest, "-]") {
			continue
		}
		p.take("-")
		if to, setTo, ok := p.classAtom(); !ok || set || setTo || to < from {
			return false
		}
	}
	return true
}

// classAtom parses a character, or an escape that stands for a set of characters.
func (p *patternParser) classAtom() (char rune, set, ok bool) {
	if p.rest == "" {
		return 0, false, false
	}
	if !p.take(`\`) {
		return p.next(), false, true
	}
	switch {
	case p.take("b"):
		return '\b', false, true
	case p.take("-"):
		return '-', false, true
	}
	return p.escape()
}
