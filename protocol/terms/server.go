package terms

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/splice"
)

// Server is what a client is told when it has negotiated.
type Server struct {
	Info      protocol.Implementation
	Offered   protocol.ServerCapabilities // of the servers behind
	Tools     []string
	Resources []string // URIs: what is named in a path
	Rules     Rules
}

// response is the answer to a negotiation (S3-17).
type response struct {
	Name         string            `json:"server_name"`
	Version      string            `json:"server_version"`
	Capabilities []string          `json:"supported_capabilities"`
	Tools        []string          `json:"available_tools"`
	Resources    []string          `json:"available_resources"`
	Details      map[string]Detail `json:"capability_details"`
	Extensions   jsontext.Value    `json:"extensions,omitempty"`
}

// parameters say where a capability is used and what a client must have declared for it.
type parameters struct {
	Path     string `json:"path,omitzero"`
	Requires string `json:"requires,omitzero"`
}

// Response is the answer as JSON.
func (s Server) Response() (jsontext.Value, error) {
	r := response{
		Name: s.Info.Name, Version: s.Info.Version, Tools: s.Tools, Resources: s.Resources, Details: map[string]Detail{},
	}
	for _, o := range offers {
		if o.needs != "" && !s.Offered.Has(o.needs) {
			continue
		}
		p := parameters{Path: o.path}
		if n := s.Rules.Needs[o.place]; o.rule && n.Capability != "" {
			p.Requires = n.String()
		}
		d := Detail{Name: o.name, Version: FirstVersion, Description: o.description}
		if p != (parameters{}) {
			d.Parameters, _ = json.Marshal(p) // two texts
		}
		r.Capabilities = append(r.Capabilities, o.name)
		r.Details[o.name] = d
	}
	if extensions, ok := s.Offered.Settings("extensions"); ok && extensions.Kind() == '{' {
		r.Extensions, _ = splice.Delete(extensions, protocol.ExtensionTasks) // see Client
	}
	return json.Marshal(r, json.Deterministic(true))
}
