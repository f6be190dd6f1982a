// Package document reads a YAML file strictly. It reports each mistake with its position, the
// reason, and what to do about it. It does not know what the files are for.
package document

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Document is one reading of one file.
type Document struct {
	File        string // the name of the file, in messages
	What        string // the kind of file, with its article
	WhyEmpty    string // why an empty file is a mistake
	EmptyAdvice string // what to do about an empty file

	Problems Problems // found so far
}

// Position is a position in the file. Both numbers count from 1.
type Position struct{ Line, Col int }

// Name is a text and its position.
type Name struct {
	Text string
	At   Position
}

// Pair is one key of a mapping, with its value.
type Pair struct {
	Name  Name
	Value ast.Node
}

// Report records a mistake.
func (d *Document) Report(p Position, label, reason, do string) {
	d.Problems = append(d.Problems, Problem{d.File, p.Line, p.Col, label, reason, do})
}

// At returns the position of the beginning of a node.
func At(n ast.Node) Position { return positionOf(n.GetToken()) }

func positionOf(t *token.Token) Position {
	if t == nil || t.Position == nil {
		return Position{1, 1}
	}
	return Position{t.Position.Line, t.Position.Column}
}

// Pairs returns the names and values of a mapping, each name once. A null counts as an empty
// mapping. what names the owner of the mapping in messages.
func (d *Document) Pairs(y ast.Node, label string) (pairs []Pair, ok bool) {
	mapping, ok := y.(*ast.MappingNode)
	if !ok {
		if y.Type() != ast.NullType {
			d.Report(At(y), label+" is "+Kind(y), "it must have keys and values",
				"write `key: value`, one on each line")
		}
		return nil, y.Type() == ast.NullType
	}
	first := map[string]Position{}
	for _, value := range mapping.Values {
		where := positionOf(value.Key.GetToken())
		name, _, plain := Text(value.Key)
		if !plain {
			d.Report(where, "a key is "+Kind(value.Key), "keys must be names, and anchors are not supported",
				"write the name, and the values in full")
			continue
		}
		if before, twice := first[name]; twice {
			d.Report(where, fmt.Sprintf("%q appears twice", Printable(name)),
				fmt.Sprintf("line %d has it too", before.Line), "keep one")
			continue
		}
		first[name] = where
		pairs = append(pairs, Pair{Name{name, where}, value.Value})
	}
	return pairs, true
}

// Text returns the text of a scalar. quoted is true if the scalar was written as a text, so that
// no number or boolean was meant.
func Text(n ast.Node) (s string, quoted, ok bool) {
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

// Kind describes a node in a message about a node of the wrong kind.
func Kind(n ast.Node) string {
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

// Printable makes a text of the file fit for one line of a terminal.
func Printable(s string) string {
	const most = 80
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) || (r >= 0x200b && r <= 0x202e) ||
			(r >= 0x2066 && r <= 0x2069) || r == 0xfeff || r >= 0xe0000 {
			return '?'
		}
		return r
	}, s)
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return s
}
