package client

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
)

// carried is what a server may ask of a client through this host.
const carried = `{"roots":{"listChanged":true},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}},` +
	`"extensions":{"` + protocol.ExtensionUI + `":{},"` + protocol.ExtensionTasks + `":{}}}`

// Carried is what of a client's capabilities can be declared to a server: never more than the client declared, nor than the host passes
// on. A server that believes in a capability nobody has may wait for ever.
func Carried(client protocol.ClientCapabilities) protocol.ClientCapabilities {
	carrier, err := protocol.ParseClientCapabilities(jsontext.Value(carried))
	if err != nil {
		panic(err) // the text above is ours
	}
	return client.Intersect(carrier)
}
