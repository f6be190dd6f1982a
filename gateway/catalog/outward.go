package catalog

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// URI returns what a client is to call a server's resource: its own URI where that leads back to
// the server, else the wrapped form. A web page that no server lists is left alone, because clients
// fetch it themselves, and so is what has its content in itself.
func (a *Addresses) URI(server, uri string) string {
	if ofItself(uri) {
		return uri
	}
	found, ok := a.locate(uri)
	switch {
	case isPage(uri):
	case ok && found == origin{server, uri} && parses(uri):
		return uri
	case !ok && ofWeb(uri):
		return uri
	}
	return Wrap(server, uri)
}

// Reading is a request that is answered by one server, as far as its answer is rewritten by it.
type Reading struct {
	Server, Method string
	// Asked is the URI that the client asked for, and Own the server's for the same; empty for
	// none.
	Asked, Own string
	// Given, if any, is told each URI of the server, by its own name, that the client was given and
	// no list or template leads back from.
	Given func(uri string)
}

// outward rewrites what a server says, for clients of the list of all servers.
type outward struct {
	*Addresses
	server     string
	asked, own string
	given      func(string)
}

// Result rewrites the URIs that the client may come back with in a server's result: those of links,
// embedded resources, contents and pages, and of what the server asks with an incomplete result.
func (a *Addresses) Result(r Reading, result jsontext.Value) jsontext.Value {
	if !Linked(result) {
		return result
	}
	o := outward{Addresses: a, server: r.Server, given: r.Given}
	switch r.Method {
	case "tools/call", "tasks/result":
		result = o.each(
			result,
			"content",
			func(block jsontext.Value) jsontext.Value { return o.block(block, nested) },
		)
	case "tasks/get":
		result = member(result, "result", func(of jsontext.Value) jsontext.Value {
			return a.Result(Reading{Server: r.Server, Method: "tools/call", Given: r.Given}, of)
		})
	case "prompts/get":
		result = o.messages(result)
	case "resources/read":
		o.asked, o.own = r.Asked, r.Own
		result = o.each(
			result,
			"contents",
			func(content jsontext.Value) jsontext.Value { return o.withMeta(o.renamed(content)) },
		)
	default:
		return result
	}
	result = member(result, "inputRequests", func(all jsontext.Value) jsontext.Value {
		return splice.MapMembers(all, func(m splice.Member) (jsontext.Value, bool) {
			return member(m.Value, "params", o.messages), true
		})
	})
	return o.withMeta(result)
}

// Question rewrites the same in what a server asks a client.
func (a *Addresses) Question(server, method string, params jsontext.Value) jsontext.Value {
	if method != "sampling/createMessage" || !Linked(params) {
		return params
	}
	return outward{Addresses: a, server: server}.messages(params)
}

// Linked reports whether there may be URIs to rewrite: it costs a large text next to nothing. A
// name that is written with escapes could be anything.
func Linked(result jsontext.Value) bool {
	return bytes.Contains(result, []byte(`ri"`)) || bytes.Contains(result, []byte(`Template"`)) ||
		bytes.Contains(result, []byte(`\u00`))
}

// Error rewrites the data of an error with which a server answered a request: the resource that it
// is about.
func (a *Addresses) Error(r Reading, data jsontext.Value) jsontext.Value {
	if member := addressed[r.Method].member; len(member) > 0 && member[0] == "uri" {
		return outward{Addresses: a, server: r.Server, asked: r.Asked, own: r.Own}.renamed(data)
	}
	return data
}

// nested is how deep the content of a tool's result may stand in a message.
const nested = 3

// messages rewrites those of a prompt, or of what a model is asked: each has one block or several.
func (o outward) messages(of jsontext.Value) jsontext.Value {
	return o.each(
		of,
		"messages",
		func(message jsontext.Value) jsontext.Value { return o.content(message, nested) },
	)
}

// content rewrites the content of a message or of a tool's result within one.
func (o outward) content(of jsontext.Value, depth int) jsontext.Value {
	return member(of, "content", func(content jsontext.Value) jsontext.Value {
		if content.Kind() != '[' {
			return o.block(content, depth)
		}
		return splice.MapElements(
			content,
			func(block jsontext.Value) (jsontext.Value, bool) { return o.block(block, depth), true },
		)
	})
}

// block rewrites one block of content.
func (o outward) block(block jsontext.Value, depth int) jsontext.Value {
	switch kind, _ := splice.GetString(block, "type"); {
	case kind == "resource_link":
		block = o.renamed(block)
	case kind == "resource":
		block = member(
			block,
			"resource",
			func(r jsontext.Value) jsontext.Value { return o.withMeta(o.renamed(r)) },
		)
	case kind == "tool_result" && depth > 0:
		block = o.content(block, depth-1)
	}
	return o.withMeta(block)
}

// withMeta rewrites the page that _meta names: ui.resourceUri of MCP Apps, its older form, and that
// of clients before there was a specification.
func (o outward) withMeta(of jsontext.Value) jsontext.Value {
	return member(of, "_meta", func(meta jsontext.Value) jsontext.Value {
		return splice.MapMembers(meta, func(m splice.Member) (jsontext.Value, bool) {
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

// page rewrites the URI of a page; any other stays.
func (o outward) page(raw jsontext.Value) jsontext.Value {
	if uri, ok := splice.Unquote(raw); ok && isPage(uri) {
		return o.uri(raw)
	}
	return raw
}

// renamed rewrites the member uri of an object.
func (o outward) renamed(
	object jsontext.Value,
) jsontext.Value {
	return member(object, "uri", o.uri)
}

// uri rewrites one URI. What a client asked for is told by the name that it asked by.
func (o outward) uri(raw jsontext.Value) jsontext.Value {
	uri, ok := splice.Unquote(raw)
	if !ok || uri == "" {
		return raw
	}
	if uri == o.own {
		return splice.Quote(o.asked)
	}
	external := o.URI(o.server, uri)
	if o.given != nil && !ofItself(uri) {
		if _, led := o.locate(uri); !led {
			o.given(uri)
		}
	}
	if external == uri {
		return raw
	}
	return splice.Quote(external)
}

// each rewrites each element of an array that is a member of an object.
func (o outward) each(
	object jsontext.Value,
	name string,
	f func(jsontext.Value) jsontext.Value,
) jsontext.Value {
	return member(object, name, func(array jsontext.Value) jsontext.Value {
		return splice.MapElements(
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
	return splice.MapMembers(object, func(m splice.Member) (jsontext.Value, bool) {
		if m.Is(name) {
			return f(m.Value), true
		}
		return m.Value, true
	})
}
