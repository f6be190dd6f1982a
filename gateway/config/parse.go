package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// MaxFile bounds a configuration: ten thousand servers fit.
const MaxFile = 1 << 20

// maxNesting bounds brackets within brackets, and dashes in one line, for which the YAML parser recurses. The table needs six.
const maxNesting = 32

// position in the file, from 1.
type position struct{ line, col int }

func at(n ast.Node) position { return positionOf(n.GetToken()) }

func positionOf(t *token.Token) position {
	if t == nil || t.Position == nil {
		return position{1, 1}
	}
	return position{t.Position.Line, t.Position.Column}
}

// parse reads YAML, of which JSON is a part, into its only document's root. It reports its own problems and returns nil after one.
func (l *loader) parse(data []byte) ast.Node {
	first := position{1, 1}
	if len(data) > MaxFile {
		l.problem(first, fmt.Sprintf("the file has %d bytes", len(data)), fmt.Sprintf("at most %d are read", MaxFile), "check that it is the right one")
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		l.problem(first, "the file is not UTF-8", "", "save it as UTF-8")
		return nil
	}
	tokens := lexer.Tokenize(string(data))
	if deep := nesting(tokens); deep != nil {
		l.problem(positionOf(deep), fmt.Sprintf("more than %d levels", maxNesting), "no key is that deep", "check the brackets")
		return nil
	}
	tree, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		where, what := first, err.Error()
		var bad yaml.Error
		if errors.As(err, &bad) {
			where, what = positionOf(bad.GetToken()), bad.GetMessage()
		}
		do := "check indentation, quotes and brackets"
		if lines := bytes.Split(data, []byte("\n")); where.line <= len(lines) && bytes.Contains(lines[where.line-1], []byte("${")) {
			do = "put quotes around a text with ${ } in it"
		}
		l.problem(where, "this is no YAML", printable(what), do)
		return nil
	}
	var root ast.Node
	for _, doc := range tree.Docs {
		switch {
		case doc.Body == nil || doc.Body.Type() == ast.CommentType:
		case doc.Body.Type() == ast.DirectiveType:
			l.problem(at(doc.Body), "a %directive", "none is known here", "remove the line")
		case root != nil:
			l.problem(at(doc.Body), "a second document", "a configuration is one", "remove the line --- and what follows it")
		default:
			root = doc.Body
		}
	}
	if root == nil && len(l.problems) == 0 {
		l.problem(first, "the file is empty", "nothing would be served", "begin with `tenants:`, or run without a file for a demonstration")
	}
	return root
}

// nesting returns the token that begins a level too deep.
func nesting(tokens token.Tokens) *token.Token {
	flow, dashes, line := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			dashes, line = 0, t.Position.Line
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType, token.TagType, token.AnchorType:
			dashes++
		}
		if flow > maxNesting || dashes > maxNesting {
			return t
		}
	}
	return nil
}

// text returns a scalar's text. quoted says that it was written as a text, so that no number or boolean was meant.
func text(n ast.Node) (s string, quoted, ok bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true, true
	case *ast.LiteralNode:
		return n.Value.Value, true, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, false, true
	}
	return "", false, false
}

// kind names what was found instead of what was wanted.
func kind(n ast.Node) string {
	switch n.Type() {
	case ast.MappingType, ast.MappingValueType:
		return "keys and values"
	case ast.SequenceType:
		return "a list"
	case ast.NullType:
		return "nothing"
	case ast.AnchorType, ast.AliasType, ast.MergeKeyType:
		return "an anchor or alias"
	case ast.TagType:
		return "a tag"
	case ast.StringType, ast.LiteralType:
		return "a text"
	}
	return "a number or boolean"
}

// printable makes a text of the file fit for one line of a terminal.
func printable(s string) string {
	const most = 80
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) || (r >= 0x200b && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069) || r == 0xfeff || r >= 0xe0000 {
			return '?'
		}
		return r
	}, s)
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return s
}
