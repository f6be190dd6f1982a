package catalog

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// ClientURI returns the ClientURI by which a client is to request a server's resource: the server's
// own URI if it leads back to the server, else the wrapped form. A web page that no server
// lists stays unchanged, because clients fetch it themselves. A URI that contains its own
// content stays unchanged too.
func (a *Router) ClientURI(server, uri string) string {
	if isInline(uri) {
		return uri
	}
	found, ok := a.locate(uri)
	switch {
	case isPage(uri):
	case ok && found == origin{server, uri} && clientsParse(uri):
		return uri
	case !ok && isWebURL(uri):
		return uri
	}
	return Wrap(server, uri)
}

// AnswerContext describes a request to one server, as far as the rewriting of the answer needs it.
type AnswerContext struct {
	Server, Method string
	// Asked is the URI that the client requested, and Own is the server's URI for the same
	// resource. Both are empty if the request has no URI.
	ClientURI, ServerURI string
	// OnURI, if not nil, is called with each of the server's own URIs that the client receives and
	// that no list or template leads back from.
	OnURI func(uri string)
}

// uriRewriter rewrites the messages of a server for clients of the list of all servers.
type uriRewriter struct {
	*Router
	server     string
	asked, own string
	given      func(string)
}

// Result rewrites the URIs in a server's result that the client may send back: those of links,
// embedded resources, contents and pages, and those in the server's questions of an incomplete
// result.
func (a *Router) Result(r AnswerContext, result jsontext.Value) jsontext.Value {
	if !MayHaveURIs(result) {
		return result
	}
	o := uriRewriter{Router: a, server: r.Server, given: r.OnURI}
	switch r.Method {
	case "tools/call", "tasks/result":
		result = o.each(
			result,
			"content",
			func(block jsontext.Value) jsontext.Value { return o.block(block, nested) },
		)
	case "tasks/get":
		result = member(result, "result", func(of jsontext.Value) jsontext.Value {
			return a.Result(AnswerContext{Server: r.Server, Method: "tools/call", OnURI: r.OnURI}, of)
		})
	case "prompts/get":
		result = o.messages(result)
	case "resources/read":
		o.asked, o.own = r.ClientURI, r.ServerURI
		result = o.each(
			result,
			"contents",
			func(content jsontext.Value) jsontext.Value { return o.withMeta(o.withURI(content)) },
		)
	default:
		return result
	}
	result = member(result, "inputRequests", func(all jsontext.Value) jsontext.Value {
		return jsonedit.MapMembers(all, func(m jsonedit.Member) (jsontext.Value, bool) {
			return member(m.Value, "params", o.messages), true
		})
	})
	return o.withMeta(result)
}

// Question rewrites the same URIs in a server's request to a client.
func (a *Router) Question(server, method string, params jsontext.Value) jsontext.Value {
	if method != "sampling/createMessage" || !MayHaveURIs(params) {
		return params
	}
	return uriRewriter{Router: a, server: server}.messages(params)
}

// MayHaveURIs reports whether the JSON may contain URIs to rewrite. The check is cheap even for a
// large text. A member name that contains escapes could be any name, so it counts.
func MayHaveURIs(result jsontext.Value) bool {
	return bytes.Contains(result, []byte(`ri"`)) || bytes.Contains(result, []byte(`Template"`)) ||
		bytes.Contains(result, []byte(`\u00`))
}

// Error rewrites the data of a server's error answer: the URI of the resource that the error
// is about.
func (a *Router) Error(r AnswerContext, data jsontext.Value) jsontext.Value {
	if member := addressed[r.Method].member; len(member) > 0 && member[0] == "uri" {
		return uriRewriter{Router: a, server: r.Server, asked: r.ClientURI,
			own: r.ServerURI}.withURI(data)
	}
	return data
}

// nested bounds how deep tool results may be nested in a message.
const nested = 3

// messages rewrites the messages of a prompt or of a sampling request. Each message has one block
// or several.
func (o uriRewriter) messages(of jsontext.Value) jsontext.Value {
	return o.each(
		of,
		"messages",
		func(message jsontext.Value) jsontext.Value { return o.content(message, nested) },
	)
}

// content rewrites the content of a message, or of a tool's result within a message.
func (o uriRewriter) content(of jsontext.Value, depth int) jsontext.Value {
	return member(of, "content", func(content jsontext.Value) jsontext.Value {
		if content.Kind() != '[' {
			return o.block(content, depth)
		}
		return jsonedit.MapElements(
			content,
			func(block jsontext.Value) (jsontext.Value, bool) { return o.block(block, depth), true },
		)
	})
}

// block rewrites one block of content.
func (o uriRewriter) block(block jsontext.Value, depth int) jsontext.Value {
	switch kind, _ := jsonedit.GetString(block, "type"); {
	case kind == "resource_link":
		block = o.withURI(block)
	case kind == "resource":
		block = member(
			block,
			"resource",
			func(r jsontext.Value) jsontext.Value { return o.withMeta(o.withURI(r)) },
		)
	case kind == "tool_result" && depth > 0:
		block = o.content(block, depth-1)
	}
	return o.withMeta(block)
}

// withMeta rewrites the page that _meta names: in ui.resourceUri of MCP Apps, in the older form
// of it, and in the form of clients from before the specification.
func (o uriRewriter) withMeta(of jsontext.Value) jsontext.Value {
	return member(of, "_meta", func(meta jsontext.Value) jsontext.Value {
		return jsonedit.MapMembers(meta, func(m jsonedit.Member) (jsontext.Value, bool) {
			switch {
			case m.Is("ui"):
				return member(m.Value, "resourceUri", o.page), true
			case m.Is("ui/resourceUri"), m.Is("openai/outputTemplate"):
				return o.page(m.Value), true
			}
			return m.Value, true
		})
	})
}

// page rewrites the URI of a page. Any other URI stays unchanged.
func (o uriRewriter) page(raw jsontext.Value) jsontext.Value {
	if uri, ok := jsonedit.Unquote(raw); ok && isPage(uri) {
		return o.uri(raw)
	}
	return raw
}

// withURI rewrites the member uri of an object.
func (o uriRewriter) withURI(
	object jsontext.Value,
) jsontext.Value {
	return member(object, "uri", o.uri)
}

// uri rewrites one URI. The resource that the client requested keeps the URI that the
// client used.
func (o uriRewriter) uri(raw jsontext.Value) jsontext.Value {
	uri, ok := jsonedit.Unquote(raw)
	if !ok || uri == "" {
		return raw
	}
	if uri == o.own {
		return jsonedit.Quote(o.asked)
	}
	external := o.ClientURI(o.server, uri)
	if o.given != nil && !isInline(uri) {
		if _, led := o.locate(uri); !led {
			o.given(uri)
		}
	}
	if external == uri {
		return raw
	}
	return jsonedit.Quote(external)
}

// each rewrites every element of an array that is a member of an object.
func (o uriRewriter) each(
	object jsontext.Value,
	name string,
	f func(jsontext.Value) jsontext.Value,
) jsontext.Value {
	return member(object, name, func(array jsontext.Value) jsontext.Value {
		return jsonedit.MapElements(
			array,
			func(element jsontext.Value) (jsontext.Value, bool) { return f(element), true },
		)
	})
}

func member(
	object jsontext.Value,
	name string,
	f func(jsontext.Value) jsontext.Value,
) jsontext.Value {
	return jsonedit.MapMembers(object, func(m jsonedit.Member) (jsontext.Value, bool) {
		if m.Is(name) {
			return f(m.Value), true
		}
		return m.Value, true
	})
}
