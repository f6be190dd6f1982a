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

// reply is what a request is answered with: one of the two.
type reply struct {
	Result any
	Error  *failure
}

// failure is an error of JSON-RPC.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitzero"`
}

// line is a reply as it is sent.
func line(id jsontext.Value, r reply) []byte {
	head := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	if r.Error != nil {
		return append(append(append(head, `,"error":`...), encode(r.Error)...), "}\n"...)
	}
	return append(append(append(head, `,"result":`...), encode(r.Result)...), "}\n"...)
}

// object is a JSON object.
type object = map[string]any

// encode is a value as JSON: the same for the same value, since faults cut and compare lines.
func encode(v any) []byte {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic("server: " + err.Error()) // all of it is ours
	}
	return b
}
