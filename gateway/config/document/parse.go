package document

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// MaxFile bounds a file in bytes. A configuration of ten thousand servers fits.
const MaxFile = 1 << 20

// maxNesting bounds nested brackets, and dashes in one line, because the YAML parser recurses for
// them. No file of mcpd needs more than eight.
const maxNesting = 32

// Parse parses YAML, which includes JSON, and returns the root of the only document. It returns
// nil after a problem.
func (d *Document) Parse(data []byte) ast.Node {
	first := Position{1, 1}
	if len(data) > MaxFile {
		d.Report(first, fmt.Sprintf("the file has %d bytes", len(data)),
			fmt.Sprintf("at most %d are read", MaxFile), "check that it is the right file")
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		d.Report(first, "the file is not UTF-8", "", "save it as UTF-8")
		return nil
	}
	tokens := lexer.Tokenize(string(data))
	if deep := nesting(tokens); deep != nil {
		d.Report(positionOf(deep), fmt.Sprintf("more than %d levels", maxNesting), "no key is that deep",
			"check the brackets")
		return nil
	}
	tree, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		where, label := first, err.Error()
		var bad yaml.Error
		if errors.As(err, &bad) {
			where, label = positionOf(bad.GetToken()), bad.GetMessage()
		}
		do := "check indentation, quotes and brackets"
		if lines := bytes.Split(data, []byte("\n")); where.Line <= len(lines) {
			switch line := lines[where.Line-1]; {
			case bytes.Contains(line, []byte("${")):
				do = "put quotes around a text with ${ } in it"
			case bytes.Contains(line, []byte("/{")):
				do = "put quotes around a path with { } in it"
			// Between brackets a tab is allowed.
			case bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("\t")) && !bracketed(tokens, where.Line):
				label, do = "the line begins with a tab", "indent it with spaces"
			}
		}
		d.Report(where, "this is not valid YAML", Printable(label), do)
		return nil
	}
	var root ast.Node
	for _, doc := range tree.Docs {
		switch {
		case doc.Body == nil || doc.Body.Type() == ast.CommentType:
		case doc.Body.Type() == ast.DirectiveType:
			d.Report(At(doc.Body), "a %directive", "directives are not supported", "remove the line")
		case root != nil:
			d.Report(At(doc.Body), "a second document", d.What+" is one document",
				"remove the line --- and everything after it")
		default:
			root = doc.Body
		}
	}
	if root == nil && len(d.Problems) == 0 {
		d.Report(first, "the file is empty", d.WhyEmpty, d.EmptyAdvice)
	}
	return root
}

// bracketed reports whether a line begins between brackets.
func bracketed(tokens token.Tokens, line int) bool {
	open := 0
	for _, t := range tokens {
		switch {
		case t.Position.Line >= line:
		case t.Type == token.SequenceStartType, t.Type == token.MappingStartType:
			open++
		case t.Type == token.SequenceEndType, t.Type == token.MappingEndType:
			open--
		}
	}
	return open > 0
}

// nesting returns the token that begins a level too deep, or nil.
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
