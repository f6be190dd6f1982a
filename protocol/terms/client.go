package terms

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/splice"
)

// Bounds of a declaration. A session keeps it for as long as it lasts.
const (
	// MaxNames is how many capabilities a client may declare; the interface itself knows six.
	MaxNames = 64
	// MaxName bounds one name.
	MaxName = 128
)

// Client is what a client declared. It is immutable, and safe to share.
type Client struct {
	Info         protocol.Implementation
	names        map[string]Detail
	capabilities protocol.ClientCapabilities
}

// Detail is what a side says of one capability (S3-15).
type Detail struct {
	Name        string         `json:"name"`
	Version     string         `json:"version"`
	Description string         `json:"description"`
	Parameters  jsontext.Value `json:"parameters,omitempty"`
}

// request is the body of a negotiation (S3-16).
type request struct {
	Name         *string                   `json:"client_name"`
	Version      *string                   `json:"client_version"`
	Capabilities *[]string                 `json:"supported_capabilities"`
	Details      map[string]detail         `json:"capability_details"`
	Extensions   map[string]jsontext.Value `json:"extensions"`
}

// detail is a Detail as it is read: all but its parameters is required (S3-15).
type detail struct {
	Name        *string        `json:"name"`
	Version     *string        `json:"version"`
	Description *string        `json:"description"`
	Parameters  jsontext.Value `json:"parameters,omitempty"`
}

// ParseClient reads a declaration, and copies what it keeps. Its errors say what is wrong with it.
func ParseClient(body []byte) (*Client, error) {
	if len(body) > protocol.MaxDeclaration {
		return nil, protocol.InvalidParams(fmt.Sprintf("the declaration is larger than %d bytes", protocol.MaxDeclaration))
	}
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, protocol.InvalidParams("the declaration is no JSON object of the right shape")
	}
	switch {
	case r.Name == nil || *r.Name == "":
		return nil, protocol.InvalidParams("client_name is missing")
	case r.Version == nil:
		return nil, protocol.InvalidParams("client_version is missing")
	case r.Capabilities == nil:
		return nil, protocol.InvalidParams("supported_capabilities is missing")
	case len(*r.Capabilities) > MaxNames:
		return nil, protocol.InvalidParams(fmt.Sprintf("supported_capabilities has more than %d names", MaxNames))
	}
	c := &Client{Info: protocol.Implementation{Name: *r.Name, Version: *r.Version}, names: map[string]Detail{}}
	for _, name := range *r.Capabilities {
		if !validName(name) {
			return nil, protocol.InvalidParams("supported_capabilities has a name of other than letters, digits and ._-/: in it")
		}
		c.names[name] = Detail{Name: name, Version: FirstVersion}
	}
	if err := c.detail(r.Details); err != nil {
		return nil, err
	}
	return c, c.translate(r.Extensions)
}

// FirstVersion is that of a capability of which no version is told.
const FirstVersion = "1.0"

// detail adds what the client says of what it declared (S3-61, S3-62).
func (c *Client) detail(details map[string]detail) error {
	for _, name := range slices.Sorted(maps.Keys(details)) {
		d, wrong := details[name], ""
		_, declared := c.names[name]
		switch {
		case !declared:
			return protocol.InvalidParams("capability_details has something that supported_capabilities has not")
		case d.Name == nil:
			wrong = "no name"
		case *d.Name != name:
			wrong = "the name of another"
		case d.Version == nil:
			wrong = "no version"
		case !validVersion(*d.Version):
			wrong = "a version that is no numbers between dots"
		case d.Description == nil:
			wrong = "no description"
		case len(d.Parameters) > 0 && d.Parameters.Kind() != '{' && d.Parameters.Kind() != 'n':
			wrong = "parameters that are no object"
		}
		if wrong != "" {
			return protocol.InvalidParams("capability_details." + name + " has " + wrong)
		}
		c.names[name] = Detail{name, *d.Version, *d.Description, d.Parameters}
	}
	return nil
}

// translate says in MCP's own words what servers are to hear. Tasks are left out: nobody could ask how they go through this interface.
func (c *Client) translate(extensions map[string]jsontext.Value) error {
	var told protocol.ClientCapabilities
	for _, name := range asked {
		if d, ok := c.names[name]; ok {
			settings := d.Parameters
			if settings.Kind() != '{' {
				settings = jsontext.Value("{}")
			}
			told = told.With(name, settings)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(extensions)) {
		if settings := extensions[name]; settings.Kind() == '{' && name != "" && name != protocol.ExtensionTasks {
			told = told.With("extensions."+name, settings)
		}
	}
	checked, err := protocol.ParseClientCapabilities(told.Raw())
	c.capabilities = checked.Clone()
	return err
}

// Anonymous is a client that did not negotiate (S3-45).
func Anonymous() *Client {
	return &Client{
		Info:  protocol.Implementation{Name: "anonymous", Version: "unknown"},
		names: map[string]Detail{Basic: {Name: Basic, Version: FirstVersion}},
	}
}

// Has reports whether the capability was declared (S3-22).
func (c *Client) Has(capability string) bool {
	_, ok := c.names[capability]
	return ok
}

// Meets reports whether the client declared what is needed, in a version that will do.
func (c *Client) Meets(n Need) bool {
	if n.Capability == "" {
		return true
	}
	d, ok := c.names[n.Capability]
	return ok && (n.Version == "" || atLeast(d.Version, n.Version))
}

// Names lists what was declared, sorted.
func (c *Client) Names() []string { return slices.Sorted(maps.Keys(c.names)) }

// Capabilities is what servers are told.
func (c *Client) Capabilities() protocol.ClientCapabilities { return c.capabilities }

// LogLevel is the least severe log line that the client wants of its calls, "" for none.
func (c *Client) LogLevel() string {
	level, _ := splice.GetString(c.names[Notifications].Parameters, "level")
	if !protocol.ValidLogLevel(level) {
		return ""
	}
	return level
}

// validName asks for something that can be written into a configuration and a log line.
func validName(name string) bool {
	if name == "" || len(name) > MaxName {
		return false
	}
	for _, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '.', c == '_', c == '-', c == '/', c == ':':
		default:
			return false
		}
	}
	return true
}

// Declaration is what the client declared, so that ParseClient makes the same of it.
func (c *Client) Declaration() jsontext.Value {
	names := slices.Sorted(maps.Keys(c.names))
	r := request{
		Name: &c.Info.Name, Version: &c.Info.Version, Capabilities: &names,
		Details: map[string]detail{}, Extensions: map[string]jsontext.Value{},
	}
	for name, d := range c.names {
		r.Details[name] = detail{&d.Name, &d.Version, &d.Description, d.Parameters}
	}
	extensions, _ := splice.Get(c.capabilities.Raw(), "extensions")
	for m := range splice.Members(extensions) {
		r.Extensions[m.Key()] = m.Value
	}
	data, err := json.Marshal(r, json.Deterministic(true))
	if err != nil {
		panic(err) // all of it was parsed
	}
	return data
}
