package rewrite

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
)

// Kind is the kind of the items in a list.
type Kind uint8

// The kinds.
const (
	Tool Kind = iota
	Prompt
	Resource
	Template
)

var kinds = [...]object{Tool: tool, Prompt: prompt, Resource: resource, Template: template}

// String is the kind in one word.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return [...]string{"tool", "prompt", "resource", "template"}[k]
	}
	return "unknown"
}

// Item translates one item of a server's list for the client. From is the server's revision, to the
// client's. Every item has a form in every revision. An item that needs no change is returned
// without a copy.
func Item(k Kind, from, to protocol.Version, item jsontext.Value) jsontext.Value {
	if int(k) >= len(kinds) {
		return item
	}
	item, _ = rewriteValue(planFor(from, to), item, kinds[k])
	return item
}
