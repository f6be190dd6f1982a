package server_test

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/internal/testrig"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
	"mcpd/transport/pipe"
)

// script maps methods to the answers of a server. A missing method is refused; for a nil function
// there is no answer.
type script map[string]func(params jsontext.Value) string

// peer is a server that follows a script and records what it receives.
type peer struct {
	end pipe.Server
	got testrig.Log
}

// serve answers until the connection ends.
func (p *peer) serve(lines script) {
	for {
		m, err := p.end.Recv(context.Background()) // it ends with the connection
		if err != nil {
			return
		}
		p.got.Add(m)
		if m.Kind() != jsonrpc.KindRequest {
			continue
		}
		answer := jsonrpc.Failure(m.ID, &jsonrpc.Error{
			Code: jsonrpc.CodeMethodNotFound, Message: "no line for " + m.Method,
		})
		if line, ok := lines[m.Method]; ok && line == nil {
			continue
		} else if ok {
			answer = answered(m.ID, line(m.Params))
		}
		p.send(transport.Inbound{Message: answer, RequestID: m.ID})
	}
}

// unknown is the answer of a server that does not have the resource "nope".
const unknown = "-32002"

// visit is the answer of a server whose user must visit a page first.
const visit = "-32042"

// offline is the answer of a server that cannot reach the source of its list.
const offline = "-32603"

// answered is the message for a line of the script: a result, or one of the errors above, or the
// error of a modern server that requires a client with tasks.
func answered(id jsonrpc.ID, line string) jsonrpc.Message {
	switch line {
	case unknown:
		return jsonrpc.Failure(id,
			protocol.Translate(protocol.ResourceNotFound("nope"), protocol.V20251125))
	case visit:
		return jsonrpc.Failure(id, protocol.Translate(protocol.URLElicitationRequired("log in first",
			jsontext.Value(`[{"mode":"url","elicitationId":"e","url":"https://a.example","message":"go"}]`)),
			protocol.V20251125))
	case offline:
		return jsonrpc.Failure(id, &jsonrpc.Error{Code: -32603, Message: "no network"})
	case "-32021":
		return jsonrpc.Failure(id,
			protocol.Translate(protocol.CapabilityRequired("extensions."+protocol.ExtensionTasks),
				protocol.Latest))
	}
	return jsonrpc.Response(id, jsontext.Value(line))
}

func (p *peer) send(in transport.Inbound) { _ = p.end.Send(context.Background(), in) }

// Ask sends the client a question that names no call.
func (p *peer) Ask(id jsonrpc.ID, method, params string) {
	p.send(transport.Inbound{Message: jsonrpc.Request(id, method, jsontext.Value(params))})
}

// Notify sends a notification.
func (p *peer) Notify(method, params string) {
	p.send(transport.Inbound{Message: jsonrpc.Notification(method, jsontext.Value(params))})
}

// Close closes the connection.
func (p *peer) Close() { p.end.Close(nil) }

// heard is the list of received messages of a method.
func (p *peer) heard(method string) (list []jsonrpc.Message) {
	for _, m := range testrig.Of[jsonrpc.Message](&p.got) {
		if m.Method == method {
			list = append(list, m)
		}
	}
	return list
}

// answers are the received answers to its questions.
func (p *peer) answers() []jsonrpc.Message { return p.heard("") }
