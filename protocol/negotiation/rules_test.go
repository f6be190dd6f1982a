package negotiation

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
)

// rules returns the rules of S3-35, S3-36 and S3-45.
func rules() Rules {
	var r Rules
	r.Requires[Tool], r.Requires[Subscription] = Need{Capability: Sampling}, Need{
		Capability: Notifications,
	}
	r.Anonymous[Tool], r.Anonymous[Resource] = true, true
	return r
}

// S3-35, S3-36, S3-44 to S3-46, S3-49: a client that negotiated needs the capabilities of the table
// Needs. A client that did not may use the places of the table Anonymous, and none if negotiation
// is required.
func TestRules(t *testing.T) {
	required := rules()
	required.Required = true
	both := parse(t, declared)
	none := parse(t, `{"client_name":"a","client_version":"1","supported_capabilities":[]}`)
	for _, c := range []struct {
		name   string
		rules  Rules
		place  PathKind
		client *Client
		need   string
		ok     bool
	}{
		{"tool", rules(), Tool, both, "sampling", true},
		{"tool without sampling", rules(), Tool, none, "sampling", false},
		{"resource", rules(), Resource, none, "none", true},
		{"subscription", rules(), Subscription, both, "notifications", true},
		{"subscription without notifications", rules(), Subscription, none, "notifications", false},
		{"anonymous tool", rules(), Tool, nil, "sampling", true},
		{"anonymous resource", rules(), Resource, nil, "none", true},
		{"anonymous subscription", rules(), Subscription, nil, "notifications", false},
		{"required: anonymous tool", required, Tool, nil, "none", false},
		{"required: anonymous resource", required, Resource, nil, "none", false},
		{"required: tool", required, Tool, both, "sampling", true},
	} {
		if need, ok := c.rules.Allows(c.place, c.client); ok != c.ok || need.String() != c.need {
			t.Errorf("%s: %v, %v, want %v, %v", c.name, need, ok, c.need, c.ok)
		}
	}
}

// S3-61, S3-65: a rule may require a version of a custom capability. A higher version is
// sufficient.
func TestVersions(t *testing.T) {
	for need, ok := range map[string]bool{
		"acme.review": true, "acme.review@2": true, "acme.review@2.1": true, "acme.review@2.1.0": true,
		"acme.review@2.2": false,
		"acme.review@10":  false, "acme.review@1.9": true, "none": true, "other": false,
		"sampling@1.0": true, "sampling@1.1": false,
	} {
		n, valid := ParseNeed(need)
		if got := parse(t, declared).Meets(n); !valid || got != ok || n.String() != need {
			t.Errorf("%s, read as %v, %v: %v, want %v", need, n, valid, got, ok)
		}
	}
	for _, need := range []string{"", "@1", "a@", "a@x", "a@1.", "a b", "a@1.2.3.4.5", "a@-1"} {
		if n, ok := ParseNeed(need); ok {
			t.Errorf("%q is read as %v", need, n)
		}
	}
}

// S3-11, S3-12, S3-17, S3-27, S3-30: a client receives the names of tools and resources, and the
// capabilities that this API uses.
func TestServerIsDescribed(t *testing.T) {
	offered, err := protocol.ParseServerCapabilities(jsontext.Value(
		`{"tools":{},"prompts":{},"resources":{"subscribe":true},"extensions":{"io.modelcontextprotocol/ui":{},"io.modelcontextprotocol/tasks":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s := Server{
		Info: protocol.Implementation{Name: "host", Version: "3"}, Offered: offered,
		Tools: []string{"echo"}, Rules: rules(),
	}
	answer := func() (got map[string]any) {
		body, err := s.Response()
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	texts := func(v any) (list []string) {
		for _, e := range v.([]any) {
			list = append(list, e.(string))
		}
		return list
	}
	got := answer()
	names := texts(got["supported_capabilities"])
	if !slices.Equal(names, []string{"tools", "resources", "subscriptions", "streaming",
		"notifications"}) {
		t.Errorf("capabilities %v", names)
	}
	if got["server_name"] != "host" || got["server_version"] != "3" ||
		!slices.Equal(texts(got["available_tools"]), []string{"echo"}) ||
		len(texts(got["available_resources"])) != 0 {
		t.Errorf("%v", got)
	}
	details := got["capability_details"].(map[string]any)
	for _, name := range names {
		d, ok := details[name].(map[string]any)
		if !ok || d["name"] != name || d["version"] != "1.0" || d["description"] == "" {
			t.Errorf("%s: %v", name, d)
		}
	}
	tools := details["tools"].(map[string]any)["parameters"].(map[string]any)
	if tools["path"] != "tool/{name}" || tools["requires"] != "sampling" {
		t.Errorf("tools: %v", tools)
	}
	if extensions := got["extensions"].(map[string]any); len(extensions) != 1 ||
		extensions["io.modelcontextprotocol/ui"] == nil {
		t.Errorf("extensions %v", extensions)
	}
	s.Offered = protocol.ServerCapabilities{}
	if got := answer(); slices.Contains(texts(got["supported_capabilities"]), "subscriptions") ||
		got["extensions"] != nil {
		t.Errorf("without servers: %v", got)
	}
}
