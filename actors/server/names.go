package server

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/request"
	merge "mcpd/gateway/catalog"
)

// names rewrites the answers of a server for a client of the aggregate endpoint. It lives as long
// as the call, so it keeps neither the request nor the view.
type names struct {
	addresses  *merge.Router     // nil leaves errors unchanged
	references *merge.References // nil leaves results unchanged
	asked, own string            // URI that is read, as the client and as the server names it
}

func (n *names) reading(server, method string) merge.AnswerContext {
	return merge.AnswerContext{Server: server, Method: method, ClientURI: n.asked, ServerURI: n.own}
}

// result rewrites a result for a principal. Most results need no rewriting.
func (n *names) result(server, method, principal string, result jsontext.Value) jsontext.Value {
	if !merge.MayHaveURIs(result) {
		return result
	}
	reading := n.reading(server, method)
	reading.OnURI = func(uri string) { n.references.Add(principal, server, uri) }
	return n.addresses.Result(reading, result)
}

// call is an exchange, with the names that its client uses for the server's resources.
type call struct {
	request.Exchange
	names names
}

// named has the exchange rewrite its answers by those names.
func (c *call) named() *request.Exchange {
	if c.names.addresses != nil {
		c.Names = c
	}
	return &c.Exchange
}

// Result implements request.Renamer.
func (c *call) Result(result jsontext.Value) jsontext.Value {
	if c.names.references == nil {
		return result
	}
	return c.names.result(c.Server, c.Method, c.Principal, result)
}

// Error implements request.Renamer.
func (c *call) Error(data jsontext.Value) jsontext.Value {
	return c.names.addresses.Error(c.names.reading(c.Server, c.Method), data)
}

// rename returns the function that rewrites the result of a task, which has no exchange to do so.
// Nil leaves the result unchanged.
func (s *Session) rename(o *outgoing) func(jsontext.Value) jsontext.Value {
	if o.names.references == nil {
		return nil
	}
	n, server, method, principal := o.names, o.server, o.d.Message.Method,
		s.handle.Endpoint().Principal
	return func(result jsontext.Value) jsontext.Value {
		return n.result(server, method, principal, result)
	}
}
