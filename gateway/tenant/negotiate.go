package tenant

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"mcpd/protocol/terms"
)

// Action is what a path of the negotiation API names below an MCP endpoint. Place and Name are those of a call, a read or a subscription.
type Action struct {
	Route
	Negotiate bool // the negotiation itself
	Place     terms.Place
	Name      string // of a tool, or the URI of a resource
}

// actions are the paths below an endpoint that are followed by a name: one percent-encoded segment, or the parameter.
var actions = []struct{ ending, parameter string }{
	terms.Tool:         {"/mcp/tool", "name"},
	terms.Resource:     {"/mcp/resource", "uri"},
	terms.Subscription: {"/mcp/subscription", "uri"},
}

// maxAction is the longest path with a name in it: as long as a request target may be.
const maxAction = 8 << 10

// ParseAction reads the path and the query of a request to the negotiation API, both as they were sent. False means that they name no
// such thing, and may be those of something else.
func ParseAction(escaped, query string) (a Action, ok bool) {
	if len(escaped) > maxAction {
		return Action{}, false
	}
	if base, found := strings.CutSuffix(escaped, "/mcp/negotiate"); found {
		a.Route, ok = ParsePath(base + "/mcp")
		a.Negotiate = true
		return a, ok
	}
	cut := strings.LastIndexByte(escaped, '/')
	if cut < 0 {
		return Action{}, false
	}
	for place, action := range actions {
		name, err := url.PathUnescape(escaped[cut+1:])
		base, found := strings.CutSuffix(escaped[:cut], action.ending)
		if !found {
			if base, found = strings.CutSuffix(escaped, action.ending); !found {
				continue
			}
			var values url.Values
			if values, err = url.ParseQuery(query); len(values[action.parameter]) == 1 {
				name = values.Get(action.parameter)
			} else {
				name = ""
			}
		}
		a.Route, ok = ParsePath(base + "/mcp")
		a.Place, a.Name = terms.Place(place), name
		return a, ok && err == nil && name != "" && utf8.ValidString(name)
	}
	return Action{}, false
}
