package catalog

import (
	"errors"
	"fmt"
	"strings"
)

// Bounds of matching. The time for a template is at most the product of the two lengths, and a
// tenant's templates are tried one after the other.
const (
	maxTemplate = 512 // bytes of a template
	// maxVariables bounds the expressions in a template. Each keeps the matcher in more than one
	// state at once.
	maxVariables = 16
	maxMatched   = 2048 // bytes of a URI that is matched against templates
)

// template matches URIs against a URI template (RFC 6570). It only decides whether a
// ClientURI could be an expansion of the template. It is laxer than the RFC where servers are: a
// value may contain characters that an expansion would have encoded. Matching takes at most the
// product of both lengths, whatever the template.
type template struct {
	steps  []step
	prefix string // literal text at the start
}

// step is one state of the matcher.
type step struct {
	class class // the bytes that it accepts
	char  byte  // for exactly
	// pass is how many states the matcher may advance without a byte; 0 for none.
	pass int
}

// class is a set of bytes.
type class uint8

const (
	exactly class = iota // one byte, once
	value                // any number of bytes that a value may have
	path                 // the same with slashes
	query                // all bytes that may stand before #
	all                  // all bytes
)

func (s step) takes(c byte) bool {
	switch s.class {
	case exactly:
		return c == s.char
	case value:
		return c != '/' && c != '?' && c != '#'
	case path:
		return c != '?' && c != '#'
	case query:
		return c != '#'
	}
	return true
}

// operators say what an expression can expand to: an optional first character, and what follows
// it.
var operators = map[byte]struct {
	first byte
	rest  class
}{
	'+': {0, all},
	'#': {'#', all},
	'.': {'.', value},
	'/': {'/', path},
	';': {';', value},
	'?': {'?', query},
	'&': {'&', query},
}

// compile parses a template.
func compile(text string) (*template, error) {
	if len(text) > maxTemplate {
		return nil, fmt.Errorf("the template has %d bytes, at most %d are matched", len(text),
			maxTemplate)
	}
	t := &template{}
	t.prefix, _, _ = strings.Cut(text, "{")
	variables := 0
	for text != "" {
		literal, rest, found := strings.Cut(text, "{")
		for i := range len(literal) {
			if literal[i] == '}' {
				return nil, errors.New("the template has a } without {")
			}
			t.steps = append(t.steps, step{class: exactly, char: literal[i]})
		}
		if !found {
			break
		}
		expression, after, closed := strings.Cut(rest, "}")
		switch {
		case !closed:
			return nil, errors.New("the template has a { without }")
		case expression == "" || strings.Contains(expression, "{"):
			return nil, errors.New("the template has an expression without a name")
		}
		if variables++; variables > maxVariables {
			return nil, fmt.Errorf("the template has more than %d expressions", maxVariables)
		}
		op, operator := operators[expression[0]]
		switch {
		case !operator:
			t.steps = append(t.steps, step{class: value, pass: 1})
		case op.first == 0:
			t.steps = append(t.steps, step{class: op.rest, pass: 1})
		default:
			t.steps = append(t.steps, step{class: exactly, char: op.first, pass: 2}, step{
				class: op.rest, pass: 1,
			})
		}
		text = after
	}
	return t, nil
}

// matches reports whether the URI can be an expansion of the template. It follows all
// alternatives at once: now holds the states that wait for the next byte.
func (t *template) matches(uri string) bool {
	if !strings.HasPrefix(uri, t.prefix) || len(uri) > maxMatched {
		return false
	}
	end := len(t.steps)
	// seen has the position, counted from 1, at which a state was last entered.
	seen := make([]int, end+1)
	var now, next []int
	enter := func(states []int, state, position int) []int {
		for seen[state] != position {
			seen[state] = position
			states = append(states, state)
			if state == end || t.steps[state].pass == 0 {
				break
			}
			state += t.steps[state].pass
		}
		return states
	}
	now = enter(now, 0, 1)
	for i := range len(uri) {
		next = next[:0]
		for _, state := range now {
			if state == end || !t.steps[state].takes(uri[i]) {
				continue
			}
			if t.steps[state].class == exactly {
				next = enter(next, state+1, i+2)
			} else {
				next = enter(next, state, i+2)
			}
		}
		if now, next = next, now; len(now) == 0 {
			return false
		}
	}
	return seen[end] == len(uri)+1
}
