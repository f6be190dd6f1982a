package protocol

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// parameter is a member of params whose kind every schema agrees on.
type parameter struct {
	name     string
	kind     jsontext.Kind
	required bool
}

// parameters lists them, by request of a client. Those that only one place reads are checked there: cursors, task ids, levels, filters.
var parameters = map[string][]parameter{
	"completion/complete":   {{"ref", '{', true}, {"argument", '{', true}},
	"prompts/get":           {{"name", '"', true}, {"arguments", '{', false}},
	"resources/read":        {{"uri", '"', true}},
	"resources/subscribe":   {{"uri", '"', true}},
	"resources/unsubscribe": {{"uri", '"', true}},
	"tools/call":            {{"name", '"', true}, {"arguments", '{', false}},
}

// CheckParams refuses params of a client's request in which a member is missing or of the wrong kind. An optional one may be null: several
// clients write that for what they leave out.
func CheckParams(method string, params jsontext.Value) error {
	for _, p := range parameters[method] {
		switch value, ok := splice.Get(params, p.name); {
		case !ok && p.required:
			return InvalidParams("params." + p.name + " is missing")
		case !ok || value.Kind() == p.kind || value.Kind() == 'n' && !p.required:
		case p.kind == '"':
			return InvalidParams("params." + p.name + " is not a string")
		default:
			return InvalidParams("params." + p.name + " is not an object")
		}
	}
	return nil
}
