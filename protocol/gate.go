package protocol

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// Gate decides whether a message may pass between a client and a server that agreed on a revision and on capabilities. It holds values
// only, so checks need no lock and may run anywhere (S0-59).
type Gate struct {
	Version Version
	Client  ClientCapabilities
	Server  ServerCapabilities
	// Required is the policy require_client_capabilities: method to the capability that its client must have declared. Nil asks for
	// nothing, as the specification has it.
	Required map[string]string
	// Asks has a server asked for what it has not declared, as a direct client does: it answers for
	// itself. Withheld are the capabilities that the host keeps back, which are refused all the same.
	Asks     bool
	Withheld []string
}

// ClientRequirements is the table of S0-33 to S0-36 for Gate.Required. No revision of MCP knows the first three capabilities.
func ClientRequirements() map[string]string {
	return map[string]string{
		"resources/list":         "resources",
		"resources/read":         "resources",
		"resources/subscribe":    "resources",
		"resources/unsubscribe":  "resources",
		"tools/list":             "tools",
		"tools/call":             "tools",
		"prompts/list":           "prompts",
		"prompts/get":            "prompts",
		"sampling/createMessage": "sampling",
	}
}

// CheckCapabilityForRequest applies such a table (S0-9). Methods that it does not list need nothing (S0-49).
func CheckCapabilityForRequest(method string, client ClientCapabilities, required map[string]string) error {
	if capability, ok := required[method]; ok && !client.Has(capability) {
		return CapabilityRequired(capability)
	}
	return nil
}

// Check reports why that side may not send the message, as an *Error: the revision lacks the method, or a capability that it needs was
// not declared. A refused request is answered with the error, a refused notification is dropped. A method that MCP does not know may pass
// where both sides have declared an extension in common, whose it may be.
func (g Gate) Check(from Side, method string, params jsontext.Value) error {
	m, ok := methods[method]
	if ok && !m.Allows(g.Version, from) || !ok && !g.Extended() {
		return MethodNotFound(method)
	}
	if params.Kind() == '[' {
		return InvalidParams("params is not an object")
	}
	if !ok {
		return nil
	}
	if m.Extension(g.Version) {
		return g.extension()
	}
	if missing := g.missing(m, from); missing != "" && !g.asks(m, missing) {
		return CapabilityNotSupported(missing)
	}
	if from == Server {
		return g.detail(method, params)
	}
	if g.Required == nil {
		return nil
	}
	return CheckCapabilityForRequest(method, g.Client, g.Required)
}

// CheckInput reports why a server may not ask for that input within an input_required result (2026-07-28 §basic/patterns/mrtr).
func (g Gate) CheckInput(method string, params jsontext.Value) error {
	m, ok := methods[method]
	if !ok || !m.Embedded(g.Version) {
		return MethodNotFound(method)
	}
	if !g.Client.Has(m.needs) {
		return CapabilityRequired(m.needs)
	}
	return g.detail(method, params)
}

// asks reports whether the server is to answer for a capability that it has not declared.
func (g Gate) asks(m Method, missing string) bool {
	return g.Asks && m.whose == servers && m.kind == req && !slices.ContainsFunc(g.Withheld, func(w string) bool {
		return missing == w || strings.HasPrefix(missing, w+".")
	})
}

// missing is the capability that the method needs and that was not declared.
func (g Gate) missing(m Method, from Side) string {
	side := Side(0)
	switch m.whose {
	case servers:
		side = Server
	case clients:
		side = Client
	case senders:
		side = from
	case receivers:
		side = from.Peer()
	}
	declared := true
	switch side {
	case Server:
		declared = !exists(serverShapes, g.Version, m.needs) || g.Server.Has(m.needs)
	case Client:
		declared = g.Client.Has(m.needs)
	}
	if declared {
		return ""
	}
	return m.needs
}

// extension asks for the tasks extension, to which all extension methods belong. Both sides must have declared it.
func (g Gate) extension() error {
	switch path := "extensions." + ExtensionTasks; {
	case !g.Server.Has(path):
		return CapabilityNotSupported(path)
	case !g.Client.Has(path):
		return CapabilityRequired(path)
	}
	return nil
}

// detail looks at what a server asks of a client, where params decide which capability that is. 2025-11-25 §client/elicitation and
// §client/sampling refuse it with -32602.
func (g Gate) detail(method string, params jsontext.Value) error {
	switch method {
	case "elicitation/create":
		mode := "form"
		if v, ok := splice.GetString(params, "mode"); ok {
			mode = v
		}
		if mode != "form" && mode != "url" || !g.Client.Has("elicitation."+mode) {
			return InvalidParams("elicitation mode " + shown(mode) + " was not declared")
		}
	case "sampling/createMessage":
		for _, member := range []string{"tools", "toolChoice"} {
			if _, ok := splice.Get(params, member); ok && !g.Client.Has("sampling.tools") {
				return InvalidParams("sampling with " + member + " was not declared")
			}
		}
	}
	return nil
}
