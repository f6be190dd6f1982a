package catalog

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// URI returns what a client is to call a server's resource: its own URI where that leads back to the server, else the wrapped form. A
// web page that no server lists is left alone, because clients fetch it themselves.
func (a *Addresses) URI(server, uri string) string {
	found, ok := a.locate(uri)
	switch {
	case ok && found == origin{server, uri}:
		return uri
	case !ok && ofWeb(uri):
		return uri
	}
	return Wrap(server, uri)
}

// Result rewrites the URIs that the client may come back with in a server's result: of links in tools/call and prompts/get, and of
// contents in resources/read. Embedded resources are there already and keep theirs.
func (a *Addresses) Result(server, method string, result jsontext.Value) jsontext.Value {
	switch method {
	case "tools/call":
		if links(result) {
			return a.within(result, "content", func(block jsontext.Value) jsontext.Value { return a.link(server, block) })
		}
	case "prompts/get":
		if links(result) {
			return a.within(result, "messages", func(message jsontext.Value) jsontext.Value {
				return member(message, "content", func(block jsontext.Value) jsontext.Value { return a.link(server, block) })
			})
		}
	case "resources/read":
		return a.within(result, "contents", func(content jsontext.Value) jsontext.Value { return a.renamed(server, content) })
	}
	return result
}

// links reports whether a result may have links. Few texts have many underscores: the end of the word is found sooner than its beginning.
func links(result jsontext.Value) bool { return bytes.Contains(result, []byte(`_link"`)) }

// Error rewrites the data of an error with which a server answered a request: the resource that it is about.
func (a *Addresses) Error(server, method string, data jsontext.Value) jsontext.Value {
	if member := addressed[method].member; len(member) > 0 && member[0] == "uri" {
		return a.renamed(server, data)
	}
	return data
}

// Notification rewrites the params of a server's notification: of notifications/resources/updated only. A client that subscribed under
// another form of the URI is told this one; who keeps subscriptions by server and its own URI can tell it its own.
func (a *Addresses) Notification(server, method string, params jsontext.Value) jsontext.Value {
	if method == "notifications/resources/updated" {
		return a.renamed(server, params)
	}
	return params
}

func (a *Addresses) link(server string, block jsontext.Value) jsontext.Value {
	if kind, _ := splice.GetString(block, "type"); kind != "resource_link" {
		return block
	}
	return a.renamed(server, block)
}

// renamed rewrites the member uri of an object.
func (a *Addresses) renamed(server string, object jsontext.Value) jsontext.Value {
	return member(object, "uri", func(raw jsontext.Value) jsontext.Value {
		uri, ok := splice.Unquote(raw)
		if !ok || uri == "" {
			return raw
		}
		if external := a.URI(server, uri); external != uri {
			return splice.Quote(external)
		}
		return raw
	})
}

// within rewrites each element of an array that is a member of an object.
func (a *Addresses) within(object jsontext.Value, name string, f func(jsontext.Value) jsontext.Value) jsontext.Value {
	return member(object, name, func(array jsontext.Value) jsontext.Value {
		return splice.MapElements(array, func(element jsontext.Value) (jsontext.Value, bool) { return f(element), true })
	})
}

func member(object jsontext.Value, name string, f func(jsontext.Value) jsontext.Value) jsontext.Value {
	return splice.MapMembers(object, func(m splice.Member) (jsontext.Value, bool) {
		if m.Is(name) {
			return f(m.Value), true
		}
		return m.Value, true
	})
}
