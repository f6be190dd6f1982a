package negotiation

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// Server is the information for a client that has negotiated.
type Server struct {
	Info      protocol.Implementation
	Offered   protocol.ServerCapabilities // of the MCP servers
	Tools     []string
	Resources []string // URIs, as they appear in paths
	Rules     Rules
}

// response is the answer to a negotiation.
type response struct {
	Name         string            `json:"server_name"`
	Version      string            `json:"server_version"`
	Capabilities []string          `json:"supported_capabilities"`
	Tools        []string          `json:"available_tools"`
	Resources    []string          `json:"available_resources"`
	Details      map[string]Detail `json:"capability_details"`
	Extensions   jsontext.Value    `json:"extensions,omitempty"`
}

// parameters give the path that uses a capability, and the capability that a client must declare
// for it.
type parameters struct {
	Path     string `json:"path,omitzero"`
	Requires string `json:"requires,omitzero"`
}

// Response returns the answer to a negotiation as JSON.
func (s Server) Response() (jsontext.Value, error) {
	r := response{
		Name: s.Info.Name, Version: s.Info.Version, Tools: s.Tools, Resources: s.Resources,
		Details: map[string]Detail{},
	}
	for _, o := range offers {
		if o.needs != "" && !s.Offered.Has(o.needs) {
			continue
		}
		p := parameters{Path: o.path}
		if n := s.Rules.Requires[o.place]; o.rule && n.Capability != "" {
			p.Requires = n.String()
		}
		d := Detail{Name: o.name, Version: FirstVersion, Description: o.description}
		if p != (parameters{}) {
			d.Parameters, _ = json.Marshal(p) // Marshal cannot fail for two strings
		}
		r.Capabilities = append(r.Capabilities, o.name)
		r.Details[o.name] = d
	}
	if extensions, ok := s.Offered.Settings("extensions"); ok && extensions.Kind() == '{' {
		r.Extensions, _ = jsonedit.Delete(extensions, protocol.ExtensionTasks) // see Client.translate
	}
	return json.Marshal(r, json.Deterministic(true))
}
