package protocol

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// Gate decides whether a message may pass between a client and a server that agreed on a revision
// and on capabilities. A Gate holds only values, so checks need no lock and are safe for concurrent
// use.
type Gate struct {
	Version Version
	Client  ClientCapabilities
	Server  ServerCapabilities
	// Required is the policy require_client_capabilities. It maps a method to the capability that the
	// client must have declared. Nil requires nothing, as in the specification.
	Required map[string]string
	// PassUndeclared lets requests through to a server that did not declare the capability, so that
	// the server itself answers, as it does for a direct client. Withheld lists the capabilities that
	// the host never lets through.
	PassUndeclared bool
	Withheld       []string
}

// ClientRequirements returns a table for Gate.Required that gates resources, tools, prompts and
// sampling. No revision of MCP defines the first three as capabilities of a client.
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

// CheckCapabilityForRequest returns CapabilityRequired if the table lists the method and the client
// did not declare the capability. A method that the table does not list needs no capability.
func CheckCapabilityForRequest(method string, client ClientCapabilities,
	required map[string]string) error {
	if capability, ok := required[method]; ok && !client.Has(capability) {
		return CapabilityRequired(capability)
	}
	return nil
}

// Check returns an *Error if the side may not send the message, and nil otherwise. The condition is
// ConditionMethodNotFound if the revision lacks the method or does not let this side send it. It is
// ConditionCapabilityNotSupported if a capability that the method needs is undeclared, and
// ConditionCapabilityRequired if Required asks for another capability. A method of the tasks
// extension yields ConditionCapabilityRequired if only the client did not declare the extension.
// The condition is ConditionInvalidParams if params is an array, or if a server asks for an
// elicitation mode or for sampling tools that the client did not declare. A refused request is
// answered with the error; a refused notification is dropped. A method that MCP does not define may
// pass if both sides declared a common extension.
func (g Gate) Check(from Side, method string, params jsontext.Value) error {
	m, ok := methods[method]
	if ok && !m.Allows(g.Version, from) || !ok && !g.SharesExtension() {
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
	if missing := g.missing(m, from); missing != "" && !g.passes(m, missing) {
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

// CheckInput returns an *Error if a server may not ask for that input within an input_required
// result, and nil otherwise (2026-07-28 §basic/patterns/mrtr).
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

// passes reports whether the request goes to the server although the server did not declare the
// capability.
func (g Gate) passes(m Method, missing string) bool {
	return g.PassUndeclared && m.declarer == servers && m.kind == req &&
		!slices.ContainsFunc(g.Withheld, func(w string) bool {
			return missing == w || strings.HasPrefix(missing, w+".")
		})
}

// missing returns the capability that the method needs and that was not declared; empty for none.
func (g Gate) missing(m Method, from Side) string {
	side := Side(0)
	switch m.declarer {
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

// extension returns an error unless both sides declared the tasks extension, to which all extension
// methods belong.
func (g Gate) extension() error {
	switch path := "extensions." + ExtensionTasks; {
	case !g.Server.Has(path):
		return CapabilityNotSupported(path)
	case !g.Client.Has(path):
		return CapabilityRequired(path)
	}
	return nil
}

// detail checks a server's request for which params decide the capability. The error is -32602
// (2025-11-25 §client/elicitation and §client/sampling).
func (g Gate) detail(method string, params jsontext.Value) error {
	switch method {
	case "elicitation/create":
		mode := "form"
		if v, ok := jsonedit.GetString(params, "mode"); ok {
			mode = v
		}
		if mode != "form" && mode != "url" || !g.Client.Has("elicitation."+mode) {
			return InvalidParams("elicitation mode " + quoted(mode) + " was not declared")
		}
	case "sampling/createMessage":
		for _, name := range []string{"tools", "toolChoice"} {
			if _, ok := jsonedit.Get(params, name); ok && !g.Client.Has("sampling.tools") {
				return InvalidParams("sampling with " + name + " was not declared")
			}
		}
	}
	return nil
}
