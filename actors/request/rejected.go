package request

import (
	"cmp"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/telemetry"
	"mcpd/transport"
)

// maxShownName bounds the name of a tool in the log, because a client chooses it.
const maxShownName = 128

// Rejected returns the event of a request that was refused with an error. It names the tool or URI
// and the client, and the server and the incident from the error that the client got.
func Rejected(
	at telemetry.Where,
	method string,
	params jsontext.Value,
	out transport.Sink,
	cause error,
	told *jsonrpc.Error,
) telemetry.Rejected {
	name, ok := jsonedit.GetString(params, "name")
	if !ok {
		name, _ = jsonedit.GetString(params, "uri")
	}
	if told != nil {
		server, _ := jsonedit.GetString(told.Data, "server")
		incident, _ := jsonedit.GetString(told.Data, "incident")
		at.Server, at.Incident = cmp.Or(at.Server, server), cmp.Or(at.Incident, incident)
	}
	e := telemetry.Rejected{
		Where: at, Reason: protocol.ConditionOf(cause).String(), Method: method,
		Name: telemetry.Clean(name, maxShownName),
	}
	if from, ok := out.(transport.Addressed); ok {
		e.Address = from.From()
	}
	return e
}
