package tenant

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"mcpd/protocol/negotiation"
)

// Action is what a path of the negotiation API names below an MCP endpoint. Place and Name are
// those of a call, a read or a subscription. A missing or malformed Name is "".
type Action struct {
	Route
	Negotiate bool // whether the path is the negotiation itself
	Place     negotiation.PathKind
	Name      string // name of a tool, or URI of a resource
}

// actions are the paths below an endpoint that take a name, either as one percent-encoded segment
// or as the parameter.
var actions = []struct{ ending, parameter string }{
	negotiation.Tool:         {"/mcp/tool", "name"},
	negotiation.Resource:     {"/mcp/resource", "uri"},
	negotiation.Subscription: {"/mcp/subscription", "uri"},
}

// maxAction is the longest path with a name in it, in bytes. It equals the bound on a request
// target.
const maxAction = 8 << 10

// ParseAction parses the path and the query of a request to the negotiation API, both as they
// were sent. False means that the path does not belong to the API, and may belong to something
// else.
func ParseAction(escaped, query string) (a Action, ok bool) {
	if base, found := strings.CutSuffix(escaped, "/mcp/negotiate"); found {
		a.Route, ok = ParsePath(base + "/mcp")
		a.Negotiate = true
		return a, ok
	}
	for place, action := range actions {
		base, segment, found := strings.Cut(escaped, action.ending+"/")
		if !found {
			if base, found = strings.CutSuffix(escaped, action.ending); !found {
				continue
			}
			a.Name = parameter(query, action.parameter)
		} else if len(escaped) <= maxAction && !strings.Contains(segment, "/") {
			a.Name, _ = url.PathUnescape(segment)
		}
		if a.Route, ok = ParsePath(base + "/mcp"); !ok {
			a.Name = ""
			continue
		}
		if a.Place = negotiation.PathKind(place); !utf8.ValidString(a.Name) {
			a.Name = ""
		}
		return a, true
	}
	return Action{}, false
}

// parameter returns the value of a parameter that is given exactly once, or "".
func parameter(query, name string) string {
	values, err := url.ParseQuery(query)
	if err != nil || len(values[name]) != 1 {
		return ""
	}
	return values.Get(name)
}
