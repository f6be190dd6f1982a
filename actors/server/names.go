package server

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/request"
	merge "mcpd/gateway/catalog"
)

// names is how answers of a server are rewritten for a client of the list of all servers. It
// lasts as long as the call, which needs neither the request nor the view.
type names struct {
	addresses  *merge.Addresses  // nil keeps errors as they are
	references *merge.References // nil keeps results as they are
	asked, own string            // the URI that is read, as its client and its server know it
}

func (n *names) reading(server, method string) merge.Reading {
	return merge.Reading{Server: server, Method: method, Asked: n.asked, Own: n.own}
}

// result rewrites a result that a principal gets. Most have nothing to rewrite.
func (n *names) result(server, method, principal string, result jsontext.Value) jsontext.Value {
	if !merge.Linked(result) {
		return result
	}
	reading := n.reading(server, method)
	reading.Given = func(uri string) { n.references.Give(principal, server, uri) }
	return n.addresses.Result(reading, result)
}

// call is an exchange with the names that its client has for what its server says.
type call struct {
	request.Exchange
	names names
}

// named has the exchange say things by those names.
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

// rename is what rewrites the result of a task, in whose place no exchange is; nil keeps it.
func (s *Session) rename(o *outgoing) func(jsontext.Value) jsontext.Value {
	if o.names.references == nil {
		return nil
	}
	n, server, method, principal := o.names, o.server, o.d.Message.Method, s.h.Endpoint().Principal
	return func(result jsontext.Value) jsontext.Value {
		return n.result(server, method, principal, result)
	}
}
