package server

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// message is a request of the client.
type message struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
}

// reply is the answer to a request. Exactly one of its fields is set.
type reply struct {
	Result any
	Error  *failure
}

// failure is a JSON-RPC error.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitzero"`
}

// encodeLine returns a reply as the line to send.
func encodeLine(id jsontext.Value, r reply) []byte {
	head := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	if r.Error != nil {
		return append(append(append(head, `,"error":`...), encode(r.Error)...), "}\n"...)
	}
	return append(append(append(head, `,"result":`...), encode(r.Result)...), "}\n"...)
}

type object = map[string]any

// encode returns a value as JSON. The encoding is deterministic, since faults cut and compare
// lines.
func encode(v any) []byte {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic("server: " + err.Error()) // all values are built by this package
	}
	return b
}
