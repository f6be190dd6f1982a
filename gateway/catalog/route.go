package catalog

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// Target is the destination of a request: the server, and the params as the server knows them.
// Asked is the name or URI in the request, and Name is the server's own name for it.
type Target struct {
	Server      string
	Params      jsontext.Value
	Asked, Name string
}

// address describes how a request names its object: the member of params that holds the name, how
// the name is looked up, and how it is split if it contains the server's name too.
type address struct {
	member []string
	find   func(*Router, string) (origin, error)
	apart  func(string) (server, name string, ok bool)
}

// addressed are the requests that name an object.
var addressed = map[string]address{
	"tools/call":            {[]string{"name"}, (*Router).tool, splitName},
	"prompts/get":           {[]string{"name"}, (*Router).prompt, splitName},
	"resources/read":        {[]string{"uri"}, (*Router).resource, unwrap},
	"resources/subscribe":   {[]string{"uri"}, (*Router).resource, unwrap},
	"resources/unsubscribe": {[]string{"uri"}, (*Router).resource, unwrap},
}

// references are the kinds of ref in completion/complete, by type.
var references = map[string]address{
	"ref/prompt":   {[]string{"ref", "name"}, (*Router).prompt, splitName},
	"ref/resource": {[]string{"ref", "uri"}, (*Router).reference, unwrap},
}

// addressOf returns the address of a request. Ok is false for a request that names no object, or
// names it in an invalid way.
func addressOf(method string, params jsontext.Value) (a address, ok bool) {
	if method == "completion/complete" {
		kind, _ := jsonedit.GetString(params, "ref", "type")
		a, ok = references[kind]
		return a, ok
	}
	a, ok = addressed[method]
	return a, ok
}

// NamedServer returns the server that a request itself names, whatever has been listed. It is empty
// if only lists tell the server. The server need not be configured.
func NamedServer(method string, params jsontext.Value) string {
	if a, ok := addressOf(method, params); ok {
		name, _ := jsonedit.GetString(params, a.member...)
		if server, _, ok := a.apart(name); ok {
			return server
		}
	}
	return ""
}

// Route finds the server that a request is for. Its errors are *protocol.Error: invalid params,
// or not found. Route panics for a method whose requests name no object. Giver, if not nil, says
// which of several servers, in the order of the configuration, has given the client a URI
// that leads to no server by itself.
func (a *Router) Route(
	method string,
	params jsontext.Value,
	giver func(uri string, order []string) (server string, ok bool),
) (Target, error) {
	row, ok := addressOf(method, params)
	switch {
	case ok:
	case method == "completion/complete":
		return Target{}, protocol.InvalidParams("ref.type is neither ref/prompt nor ref/resource")
	default:
		panic("catalog: " + method + " names nothing")
	}
	name, ok := jsonedit.GetString(params, row.member...)
	if !ok || name == "" {
		return Target{}, protocol.InvalidParams(
			strings.Join(row.member, ".") + " is missing or no text",
		)
	}
	found, err := row.find(a, name)
	if err != nil && row.member[len(row.member)-1] == "uri" && giver != nil {
		if server, ok := giver(name, a.order); ok {
			found, err = origin{server, name}, nil
		}
	}
	if err != nil {
		return Target{}, err
	}
	if found.name != name {
		if params, err = jsonedit.SetString(params, found.name, row.member...); err != nil {
			return Target{}, protocol.InvalidParams(err.Error())
		}
	}
	return Target{found.server, params, name, found.name}, nil
}

func (a *Router) tool(external string) (origin, error) {
	if found, ok := a.named(Tools, external); ok {
		return found, nil
	}
	return origin{}, protocol.ToolNotFound(external)
}

func (a *Router) prompt(external string) (origin, error) {
	if found, ok := a.named(Prompts, external); ok {
		return found, nil
	}
	return origin{}, protocol.PromptNotFound(external)
}

// named looks up a tool or prompt. An unlisted name goes to the server that the name begins with,
// because that server knows best.
func (a *Router) named(k Kind, external string) (origin, bool) {
	if found, ok := a.renamed[k][external]; ok {
		return found, true
	}
	server, name, ok := splitName(external)
	return origin{server, name}, ok && a.servers[server]
}

func (a *Router) resource(uri string) (origin, error) {
	if found, ok := a.locate(uri); ok {
		return found, nil
	}
	err := protocol.ResourceNotFound(uri)
	if len(a.pending) > 0 {
		err.Message += fmt.Sprintf(
			"; server %s, whose URIs come before those of the servers behind it, has not listed its "+
				"resources yet: "+
				"retry later, or use the URI from the list",
			a.pending[0],
		)
	}
	return origin{}, err
}

// locate looks up a URI: as a wrapped URI, then as a listed one, then by the templates
// in order.
func (a *Router) locate(uri string) (origin, bool) {
	if strings.HasPrefix(uri, scheme) || strings.HasPrefix(uri, wrappedPage) {
		server, inner, ok := unwrap(uri)
		return origin{server, inner}, ok && a.servers[server]
	}
	if server, ok := a.owners[uri]; ok {
		return origin{server, uri}, true
	}
	for _, t := range a.templates {
		if t.template != nil && t.matches(uri) {
			return origin{t.server, uri}, true
		}
	}
	return origin{}, false
}

// reference looks up the object of a completion: a listed template, or else a URI.
func (a *Router) reference(uri string) (origin, error) {
	for _, t := range a.templates {
		if t.external == uri {
			return t.origin, nil
		}
	}
	return a.resource(uri)
}
