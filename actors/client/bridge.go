package client

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/request"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/rewrite"
	"mcpd/transport"
)

// translateParams returns the params of a call in the server's own revision, with an id of ours.
// They are the params of the call itself if nothing in them changes. Large arguments are copied
// once.
func (c *Connection) translateParams(x *request.Exchange, id jsonrpc.ID) (jsontext.Value, error) {
	short, arguments := elideArguments(x)
	params, err := rewrite.Request(x.Method, x.Version, c.facts.Version, short)
	if _, none := errors.AsType[*rewrite.Inexpressible](err); none {
		return nil, protocol.MethodNotFound(x.Method)
	}
	params = c.addServerMeta(x, id, params)
	if arguments != nil && &params[0] == &short[0] && len(params) == len(short) {
		return x.Params, nil
	}
	return restoreArguments(params, arguments), nil
}

// elideArguments returns the params of a call without its arguments, if these are large: nothing on
// the way to a server looks at them, and each change of the rest would copy them.
func elideArguments(x *request.Exchange) (short, arguments jsontext.Value) {
	return jsonedit.Elide(x.Params, "arguments", transport.Large)
}

// restoreArguments puts the arguments back.
func restoreArguments(short, arguments jsontext.Value) jsontext.Value {
	if arguments == nil {
		return short
	}
	params, _ := jsonedit.Set(short, arguments, "arguments") // short is an object
	return params
}

// addServerMeta adds to the params of a call what this server needs: our progress token, and the
// metadata of a stateless request.
func (c *Connection) addServerMeta(
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
			Info: c.clientInfo(x, params), LogLevel: c.logLevel(x),
		}.Set(params)
	}
	return params
}

// clientInfo returns the client that a stateless request is to name: the client of the call if the
// exchange has one, none if the params name one already, and otherwise the host.
func (c *Connection) clientInfo(x *request.Exchange,
	params jsontext.Value) protocol.Implementation {
	_, said := jsonedit.Get(params, "_meta", protocol.MetaClientInfo)
	switch {
	case x.Client != nil && x.Client.Name != "":
		return *x.Client
	case said:
		return protocol.Implementation{}
	}
	return c.o.Self
}

// logLevel returns the least severe log level that the caller wants for this call: its own, or that
// of its session.
func (c *Connection) logLevel(x *request.Exchange) string {
	if x.Version.Has(protocol.PerRequestMeta) {
		return x.Level
	}
	return c.interest.Levels()[x.Session]
}

// checkResult returns what is wrong with a result, whichever client it is for.
func (c *Connection) checkResult(x *request.Exchange, m jsonrpc.Message) error {
	if m.Result.Kind() == '{' &&
		(!c.facts.Version.Has(protocol.ResultType) || mrtr.TypeOf(m.Elided()) == mrtr.Complete) {
		return nil
	}
	if m.Result.Kind() == '{' && !protocol.IsKnownMethod(x.Method) {
		// The extension defines the types of its results.
		return nil
	}
	return mrtr.Check(
		x.Method,
		m.Result,
		protocol.Gate{Version: c.facts.Version, Client: c.declaredBy(x)},
	)
}

// translateAnswer translates a server's answer to a call for the client of the call.
func (c *Connection) translateAnswer(x *request.Exchange,
	m jsonrpc.Message) (jsontext.Value, error) {
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
			c.clientCapabilities(x.Session),
			x.Method,
			x.Params,
			m.Error,
		)
	}
	if err := c.checkResult(x, m); err != nil {
		return nil, protocol.UpstreamInvalid(c.o.Server, err)
	}
	return c.resultTranslator().result(x, c.usablePage(x.Method, m.Result))
}
