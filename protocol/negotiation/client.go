package negotiation

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// The bounds of a declaration. A session keeps the declaration for its life.
const (
	// MaxNames is the number of capabilities that a client may declare. The API itself uses six.
	MaxNames = 64
	// MaxName bounds one name, in bytes.
	MaxName = 128
)

// Client is the declaration of a client. It is immutable and safe to share.
type Client struct {
	Info         protocol.Implementation
	names        map[string]Detail
	capabilities protocol.ClientCapabilities
}

// Detail is a side's description of one capability.
type Detail struct {
	Name        string         `json:"name"`
	Version     string         `json:"version"`
	Description string         `json:"description"`
	Parameters  jsontext.Value `json:"parameters,omitempty"`
}

// request is the body of a negotiation.
type request struct {
	Name         *string                   `json:"client_name"`
	Version      *string                   `json:"client_version"`
	Capabilities *[]string                 `json:"supported_capabilities"`
	Details      map[string]detail         `json:"capability_details"`
	Extensions   map[string]jsontext.Value `json:"extensions"`
}

// detail is a Detail as it is read. All members except parameters are required.
type detail struct {
	Name        *string        `json:"name"`
	Version     *string        `json:"version"`
	Description *string        `json:"description"`
	Parameters  jsontext.Value `json:"parameters,omitempty"`
}

// ParseClient reads a declaration, and copies the parts that it keeps. The error is a
// *protocol.Error with ConditionInvalidParams that names the problem, also if body exceeds
// protocol.MaxDeclaration bytes.
func ParseClient(body []byte) (*Client, error) {
	if len(body) > protocol.MaxDeclaration {
		return nil, protocol.InvalidParams(fmt.Sprintf("the declaration is larger than %d bytes",
			protocol.MaxDeclaration))
	}
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, protocol.InvalidParams("the declaration is not a JSON object of the expected shape")
	}
	switch {
	case r.Name == nil || *r.Name == "":
		return nil, protocol.InvalidParams("client_name is missing")
	case r.Version == nil:
		return nil, protocol.InvalidParams("client_version is missing")
	case r.Capabilities == nil:
		return nil, protocol.InvalidParams("supported_capabilities is missing")
	case len(*r.Capabilities) > MaxNames:
		return nil, protocol.InvalidParams(fmt.Sprintf("supported_capabilities has more than %d names",
			MaxNames))
	}
	c := &Client{
		Info: protocol.Implementation{Name: *r.Name, Version: *r.Version}, names: map[string]Detail{},
	}
	for _, name := range *r.Capabilities {
		if !validName(name) {
			return nil, protocol.InvalidParams(
				"a name in supported_capabilities has a character other than letters, digits and ._-/:",
			)
		}
		c.names[name] = Detail{Name: name, Version: FirstVersion}
	}
	if err := c.detail(r.Details); err != nil {
		return nil, err
	}
	return c, c.translate(r.Extensions)
}

// FirstVersion is the version of a capability whose version is not stated.
const FirstVersion = "1.0"

// detail adds the details of the declared capabilities.
func (c *Client) detail(details map[string]detail) error {
	for _, name := range slices.Sorted(maps.Keys(details)) {
		d, wrong := details[name], ""
		_, declared := c.names[name]
		switch {
		case !declared:
			return protocol.InvalidParams(
				"capability_details has a name that supported_capabilities does not have",
			)
		case d.Name == nil:
			wrong = "no name"
		case *d.Name != name:
			wrong = "the name of another"
		case d.Version == nil:
			wrong = "no version"
		case !validVersion(*d.Version):
			wrong = "a version that does not consist of numbers between dots"
		case d.Description == nil:
			wrong = "no description"
		case len(d.Parameters) > 0 && d.Parameters.Kind() != '{' && d.Parameters.Kind() != 'n':
			wrong = "parameters that are not an object"
		}
		if wrong != "" {
			return protocol.InvalidParams("capability_details." + name + " has " + wrong)
		}
		c.names[name] = Detail{name, *d.Version, *d.Description, d.Parameters}
	}
	return nil
}

// translate converts the declaration into the MCP capabilities to declare to servers. It leaves out
// tasks, because this API has no requests for them.
func (c *Client) translate(extensions map[string]jsontext.Value) error {
	var told protocol.ClientCapabilities
	for _, name := range mcpCapabilities {
		if d, ok := c.names[name]; ok {
			settings := d.Parameters
			if settings.Kind() != '{' {
				settings = jsontext.Value("{}")
			}
			told = told.With(name, settings)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(extensions)) {
		if settings := extensions[name]; settings.Kind() == '{' && name != "" &&
			name != protocol.ExtensionTasks {
			told = told.With("extensions."+name, settings)
		}
	}
	checked, err := protocol.ParseClientCapabilities(told.Raw())
	c.capabilities = checked.Clone()
	return err
}

// Anonymous returns a client that did not negotiate.
func Anonymous() *Client {
	return &Client{
		Info:  protocol.Implementation{Name: "anonymous", Version: "unknown"},
		names: map[string]Detail{Basic: {Name: Basic, Version: FirstVersion}},
	}
}

// Has reports whether the client declared the capability.
func (c *Client) Has(capability string) bool {
	_, ok := c.names[capability]
	return ok
}

// Meets reports whether the client declared the needed capability in a sufficient version.
func (c *Client) Meets(n Need) bool {
	if n.Capability == "" {
		return true
	}
	d, ok := c.names[n.Capability]
	return ok && (n.Version == "" || atLeast(d.Version, n.Version))
}

// Names lists the declared capabilities in alphabetical order.
func (c *Client) Names() []string { return slices.Sorted(maps.Keys(c.names)) }

// Capabilities returns the capabilities to declare to servers.
func (c *Client) Capabilities() protocol.ClientCapabilities { return c.capabilities }

// LogLevel is the minimum level of the log messages that the client wants of its calls; "" for
// none.
func (c *Client) LogLevel() string {
	level, _ := jsonedit.GetString(c.names[Notifications].Parameters, "level")
	if !protocol.ValidLogLevel(level) {
		return ""
	}
	return level
}

// validName reports whether a name is safe in a configuration and in a log line.
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

// Declaration returns a declaration from which ParseClient creates an equal Client.
func (c *Client) Declaration() jsontext.Value {
	names := slices.Sorted(maps.Keys(c.names))
	r := request{
		Name: &c.Info.Name, Version: &c.Info.Version, Capabilities: &names,
		Details: map[string]detail{}, Extensions: map[string]jsontext.Value{},
	}
	for name, d := range c.names {
		r.Details[name] = detail{&d.Name, &d.Version, &d.Description, d.Parameters}
	}
	extensions, _ := jsonedit.Get(c.capabilities.Raw(), "extensions")
	for m := range jsonedit.Members(extensions) {
		r.Extensions[m.Key()] = m.Value
	}
	data, err := json.Marshal(r, json.Deterministic(true))
	if err != nil {
		panic(err) // all parts were parsed from JSON
	}
	return data
}
