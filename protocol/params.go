package protocol

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// parameter is a member of params that has the same JSON type in every schema.
type parameter struct {
	path     []string
	kind     jsontext.Kind
	required bool
}

var (
	cursor    = []parameter{{[]string{"cursor"}, '"', false}}
	uri       = []parameter{{[]string{"uri"}, '"', true}}
	arguments = []parameter{{[]string{"name"}, '"', true}, {[]string{"arguments"}, '{', false}}
	answers   = []parameter{{[]string{"inputResponses"}, '{', true}}
	completed = []parameter{
		{[]string{"ref", "type"}, '"', true}, {[]string{"argument", "name"}, '"', true},
		{[]string{"argument", "value"}, '"', true},
	}
)

// parameters lists the members to check, by client request. Members that only one place reads are
// checked there: task ids, log levels, subscription filters.
var parameters = map[string][]parameter{
	"completion/complete":      completed,
	"prompts/get":              arguments,
	"prompts/list":             cursor,
	"resources/list":           cursor,
	"resources/read":           uri,
	"resources/subscribe":      uri,
	"resources/templates/list": cursor,
	"resources/unsubscribe":    uri,
	"tasks/update":             answers,
	"tools/call":               arguments,
	"tools/list":               cursor,
}

// CheckParams checks the JSON types of the members of a client's request. It returns an *Error with
// ConditionInvalidParams if a required member is missing or a member has the wrong type. An
// optional member may be null, because several clients write null for an absent member.
func CheckParams(m jsonrpc.Message) error {
	for _, p := range parameters[m.Method] {
		params, wrong := m.Params, ""
		switch {
		case len(p.path) > 1: // the outline elides the content of long members
		case !p.required && !m.MayHave(p.path[0]):
			continue
		default:
			params = m.Elided()
		}
		switch kind := jsonedit.Kind(params, p.path...); {
		case kind == 0 && p.required:
			wrong = " is missing"
		case kind == 0 || kind == p.kind || kind == 'n' && !p.required:
		case p.kind == '"':
			wrong = " is not a string"
		default:
			wrong = " is not an object"
		}
		if wrong != "" {
			return InvalidParams("params." + strings.Join(p.path, ".") + wrong)
		}
	}
	return nil
}
