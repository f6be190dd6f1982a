package client

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/rewrite"
	"mcpd/protocol/splice"
	"mcpd/transport"
)

// said is what a call says to this server, in its own revision and under an id of ours. It is the
// params of the call where nothing in them is said otherwise. Large arguments are copied once.
func (c *Connection) said(x *request.Exchange, id jsonrpc.ID) (jsontext.Value, error) {
	short, arguments := shortened(x)
	params, err := rewrite.Request(x.Method, x.Version, c.facts.Version, short)
	if _, none := errors.AsType[*rewrite.Inexpressible](err); none {
		return nil, protocol.MethodNotFound(x.Method)
	}
	params = c.addressed(x, id, params)
	if arguments != nil && &params[0] == &short[0] && len(params) == len(short) {
		return x.Params, nil
	}
	return lengthened(params, arguments), nil
}

// shortened is the params of a call without its arguments, where these are large: nothing on the
// way to a server looks at them, and each change of the rest would copy them.
func shortened(x *request.Exchange) (short, arguments jsontext.Value) {
	return splice.Elide(x.Params, "arguments", transport.Large)
}

// lengthened puts them back.
func lengthened(short, arguments jsontext.Value) jsontext.Value {
	if arguments == nil {
		return short
	}
	params, _ := splice.Set(short, arguments, "arguments") // it is an object
	return params
}

// addressed puts into the params of a call what belongs to the way to this server: our progress
// token, and what a request that stands alone says of itself.
func (c *Connection) addressed(
	x *request.Exchange,
	id jsonrpc.ID,
	params jsontext.Value,
) jsontext.Value {
	if len(x.Token) > 0 {
		params = protocol.SetProgressToken(params, jsontext.Value(id.Raw()))
	}
	if c.facts.Version.Has(protocol.PerRequestMeta) {
		params = protocol.Meta{
			Version: c.facts.Version.String(), Capabilities: c.declaredBy(x),
			Info: c.onBehalf(x, params), LogLevel: c.logLevel(x),
		}.Set(params)
	}
	return params
}

// onBehalf is who a request that stands alone says its client is: nobody else than the params say
// already, and the host where nobody has said.
func (c *Connection) onBehalf(x *request.Exchange, params jsontext.Value) protocol.Implementation {
	_, said := splice.Get(params, "_meta", protocol.MetaClientInfo)
	switch {
	case x.Client != nil && x.Client.Name != "":
		return *x.Client
	case said:
		return protocol.Implementation{}
	}
	return c.o.Self
}

// logLevel is the least severe log line that the caller wants of this call: its own word, or that
// of its session.
func (c *Connection) logLevel(x *request.Exchange) string {
	if x.Version.Has(protocol.PerRequestMeta) {
		return x.Level
	}
	return c.interest.Levels()[x.Session]
}

// sound says what is wrong with a result, whoever is to hear of it.
func (c *Connection) sound(x *request.Exchange, m jsonrpc.Message) error {
	if m.Result.Kind() == '{' &&
		(!c.facts.Version.Has(protocol.ResultType) || mrtr.TypeOf(m.Outline()) == mrtr.Complete) {
		return nil
	}
	if m.Result.Kind() == '{' && !protocol.Known(x.Method) {
		// its extension says what types there are
		return nil
	}
	return mrtr.Check(
		x.Method,
		m.Result,
		protocol.Gate{Version: c.facts.Version, Client: c.declaredBy(x)},
	)
}

// heard is what a server answered to a call, as its client is told.
func (c *Connection) heard(x *request.Exchange, m jsonrpc.Message) (jsontext.Value, error) {
	if e := m.Error; e != nil && x.Visit != nil && e.Code == protocol.CodeURLElicitationRequired &&
		c.facts.Version.Has(protocol.URLElicitationCode) {
		if pages, err := mrtr.FromURLError(e.Data); err == nil {
			return x.Visit(pages)
		}
	}
	if m.Error != nil {
		c.elicitsByError(x, m.Error)
		return nil, rewrite.Error(
			c.facts.Version,
			x.Version,
			c.can(x.Session),
			x.Method,
			x.Params,
			m.Error,
		)
	}
	if err := c.sound(x, m); err != nil {
		return nil, protocol.UpstreamInvalid(c.o.Server, err)
	}
	return c.hearing().result(x, c.usablePage(x.Method, m.Result))
}
