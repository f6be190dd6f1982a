package rewrite

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
)

// Kind is what a list is of.
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

// Item is one item of a list of a server of revision from, for a client of revision to. There is one for every item; where nothing is to
// be done it is the same bytes, at no cost.
func Item(k Kind, from, to protocol.Version, item jsontext.Value) jsontext.Value {
	if int(k) >= len(kinds) {
		return item
	}
	item, _ = whole(planFor(from, to), item, kinds[k])
	return item
}
