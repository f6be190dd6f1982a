package core

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/headers"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/rewrite"
)

// itself is the host's implementation info for servers.
var itself = protocol.Implementation{Name: "mcpd", Version: "1"}

// asking and discovering are realistic first messages of clients of each era.
const (
	asking = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true},` +
		`"sampling":{},"elicitation":{"form":{},"url":{}}},"clientInfo":{"name":"client","title":"A client","version":"1.2.3"}}}`
	discovering = `{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"client","title":"A client","version":"1.2.3"}}}}`
)

// initialize answers a first message of the legacy era, from the bytes of the message to those of
// the answer.
func initialize(server protocol.ServerCapabilities, out []byte) ([]byte, error) {
	m, err := jsonrpc.Decode([]byte(asking), jsonrpc.Limits{})
	if err != nil {
		return nil, err
	}
	h, err := protocol.Negotiation{}.Handshake(m.Params, server)
	if err != nil {
		return nil, err
	}
	return jsonrpc.Response(m.ID, h.Result(itself, "")).Append(out), nil
}

// discover answers a first message of the modern era.
func discover(server protocol.ServerCapabilities, out []byte) ([]byte, error) {
	m, err := jsonrpc.Decode([]byte(discovering), jsonrpc.Limits{})
	if err != nil {
		return nil, err
	}
	var n protocol.Negotiation
	class, err := n.Classify(protocol.Incoming{
		Method: m.Method, Params: m.Params, Header: protocol.Latest.String(),
	})
	if err != nil {
		return nil, err
	}
	r := protocol.DiscoverResult{
		Versions: n.Names(), Capabilities: server.Shape(class.Version), Info: itself,
	}
	return jsonrpc.Response(m.ID, r.Result()).Append(out), nil
}

// pair is a call and its answer, in the forms of the revisions of its client and its server.
type pair struct {
	name             string
	client, server   protocol.Version
	request, result  []byte
	declared         protocol.ClientCapabilities
	requestID, askID jsonrpc.ID
}

func newPair(name string, client, server protocol.Version) (pair, error) {
	declared, err := protocol.ParseClientCapabilities(
		jsontext.Value(`{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}}`),
	)
	if err != nil {
		return pair{}, err
	}
	params := jsontext.Value(
		`{"name":"read_text_file","arguments":{"path":"/srv/acme/README.md","head":100},"_meta":{"progressToken":7}}`,
	)
	if client.Era() == protocol.Modern {
		params = protocol.Meta{Version: client.String(), Capabilities: declared, Info: itself}.Set(params)
	}
	result := `{"content":[{"type":"text","text":"` + strings.Repeat("lorem ipsum ", 170) +
		`"},{"type":"resource_link",` +
		`"uri":"file:///srv/acme/README.md","name":"README.md"}],"structuredContent":{"lines":100},"isError":false}`
	if server.Era() == protocol.Modern {
		result = `{"resultType":"complete",` + result[1:]
	}
	p := pair{
		name: name, client: client, server: server, declared: declared, requestID: jsonrpc.IntID(5),
		askID: jsonrpc.IntID(1234),
	}
	p.request = jsonrpc.Request(p.requestID, "tools/call", params).Append(nil)
	p.result = jsonrpc.Response(p.askID, jsontext.Value(result)).Append(nil)
	return p, nil
}

// translate takes the pair through the host without its actors, from the received bytes to the sent
// bytes. With bridged set it translates between two eras; otherwise only the ids are exchanged.
func (p *pair) translate(bridged bool, out []byte) ([]byte, error) {
	call, err := jsonrpc.Decode(p.request, jsonrpc.Limits{})
	if err != nil {
		return nil, err
	}
	params := call.Params
	if bridged {
		if params, err = rewrite.Request(call.Method, p.client, p.server, params); err != nil {
			return nil, err
		}
		params = protocol.SetProgressToken(params, jsontext.Value(p.askID.Raw()))
		if p.server.Era() == protocol.Modern {
			params = protocol.Meta{Version: p.server.String(), Capabilities: p.declared,
				Info: itself}.Set(params)
			if _, err := (headers.Request{Method: call.Method, Params: params}).Fields(); err != nil {
				return nil, err
			}
		}
	}
	out = jsonrpc.Request(p.askID, call.Method, params).Append(out[:0])
	answer, err := jsonrpc.Decode(p.result, jsonrpc.Limits{})
	if err != nil {
		return nil, err
	}
	result := answer.Result
	if bridged {
		if p.server.Era() == protocol.Modern && mrtr.TypeOf(result) != mrtr.Complete {
			return nil, errors.New("no answer")
		}
		if result, err = rewrite.Result(call.Method, p.server, p.client, result,
			rewrite.Options{Server: itself}); err != nil {
			return nil, err
		}
	}
	return jsonrpc.Response(call.ID, result).Append(out[:0]), nil
}
