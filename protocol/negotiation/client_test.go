package negotiation

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcpd/protocol"
)

const declared = `{
	"client_name": "probe", "client_version": "1.2", "supported_capabilities": ["sampling", "notifications", "acme.review", "sampling"],
	"capability_details": {
		"sampling": {"name": "sampling", "version": "1.0", "description": "has a model", "parameters": {"tools": {}}},
		"acme.review": {"name": "acme.review", "version": "2.1", "description": "reviews"},
		"notifications": {"name": "notifications", "version": "1", "description": "", "parameters": {"level": "warning"}}
	},
	"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}, "io.modelcontextprotocol/tasks": {}, "odd": 1}
}`

func parse(t *testing.T, body string) *Client {
	t.Helper()
	c, err := ParseClient([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// S3-13 to S3-16, S3-20, S3-22, S3-47, S3-60: a client's declaration is stored, each name once.
// Servers receive the capabilities that MCP defines.
func TestDeclarationIsKept(t *testing.T) {
	c := parse(t, declared)
	if got := c.Names(); !slices.Equal(got, []string{"acme.review", "notifications", "sampling"}) {
		t.Errorf("names %v", got)
	}
	if c.Info.Name != "probe" || c.Info.Version != "1.2" {
		t.Errorf("client %q %q", c.Info.Name, c.Info.Version)
	}
	if !c.Has("acme.review") || c.Has("streaming") || c.LogLevel() != "warning" {
		t.Errorf("has %v, %v, level %q", c.Has("acme.review"), c.Has("streaming"), c.LogLevel())
	}
	// S3-62: parameters are the capability's settings.
	want := `{"sampling":{"tools": {}},"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes": ["text/html"]}}}`
	if got := string(c.Capabilities().Raw()); got != want {
		t.Errorf("servers are told %s, want %s", got, want)
	}
}

// S3-24: a malformed declaration is refused with the reason.
func TestDeclarationIsChecked(t *testing.T) {
	with := func(more string) string {
		return `{"client_name":"a","client_version":"1","supported_capabilities":["x"],` + more + `}`
	}
	many := strings.TrimSuffix(strings.Repeat(`"x",`, MaxNames+1), ",")
	for body, want := range map[string]string{
		``:                    "not a JSON object of the expected shape",
		`[]`:                  "not a JSON object of the expected shape",
		`{"client_name":1}`:   "not a JSON object of the expected shape",
		`{"client_name":"a",`: "not a JSON object of the expected shape",
		`{"client_name":"a","client_name":"b","client_version":"1","supported_capabilities":[]}`: "not a JSON object of the expected shape",
		`{"client_version":"1","supported_capabilities":[]}`:                                     "client_name",
		`{"client_name":"","client_version":"1","supported_capabilities":[]}`:                    "client_name",
		`{"client_name":"a","supported_capabilities":[]}`:                                        "client_version",
		`{"client_name":"a","client_version":"1"}`:                                               "supported_capabilities",
		`{"client_name":"a","client_version":"1","supported_capabilities":[` + many +
			`]}`: "more than",
		`{"client_name":"a","client_version":"1","supported_capabilities":["a b"]}`: "other than letters",
		`{"client_name":"a","client_version":"1","supported_capabilities":[""]}`:    "other than letters",
		`{"client_name":"` + strings.Repeat("a", protocol.MaxDeclaration) +
			`"}`: "larger than",
		with(
			`"capability_details":{"y":{"name":"y","version":"1","description":""}}`,
		): "a name that supported_capabilities does not have",
		with(
			`"capability_details":{"x":{"name":"y","version":"1","description":""}}`,
		): "name of another",
		with(
			`"capability_details":{"x":{"version":"1","description":""}}`,
		): "no name",
		with(
			`"capability_details":{"x":{"name":"x","description":""}}`,
		): "no version",
		with(
			`"capability_details":{"x":{"name":"x","version":"1"}}`,
		): "no description",
		with(
			`"capability_details":{"x":null}`,
		): "no name",
		with(
			`"capability_details":{"x":{"name":"x","version":"new","description":""}}`,
		): "version",
		with(
			`"capability_details":{"x":{"name":"x","version":"1.2.3.4.5","description":""}}`,
		): "version",
		with(
			`"capability_details":{"x":{"name":"x","version":"1","description":"","parameters":7}}`,
		): "parameters",
		`{"client_name":"a","client_version":"1","supported_capabilities":["roots"],` +
			`"capability_details":{"roots":{"name":"roots","version":"1","description":"","parameters":{"listChanged":"yes"}}}}`: "roots.listChanged",
	} {
		if _, err := ParseClient([]byte(body)); err == nil || !strings.Contains(err.Error(), want) ||
			protocol.ConditionOf(err) != protocol.ConditionInvalidParams {
			t.Errorf("%.120s: %v, want %q", body, err, want)
		}
	}
}

// S3-45: an anonymous client has only the basic capability.
func TestAnonymousClient(t *testing.T) {
	c := Anonymous()
	if c.Info.Name != "anonymous" || c.Info.Version != "unknown" ||
		!slices.Equal(c.Names(), []string{"basic"}) {
		t.Errorf("%q %q %v", c.Info.Name, c.Info.Version, c.Names())
	}
	if got := string(c.Capabilities().Raw()); got != "{}" {
		t.Errorf("servers are told %s", got)
	}
}

func FuzzDeclaration(f *testing.F) {
	f.Add([]byte(declared))
	f.Add(
		[]byte(`{"client_name":"a","client_version":"","supported_capabilities":["roots"],"extensions":{"":{}}}`),
	)
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := ParseClient(body)
		if err != nil {
			if protocol.ConditionOf(err) != protocol.ConditionInvalidParams {
				t.Errorf("%v", err)
			}
			return
		}
		if _, err := protocol.ParseClientCapabilities(c.Capabilities().Raw()); err != nil ||
			!c.Capabilities().Raw().IsValid() {
			t.Errorf("servers are told %s: %v", c.Capabilities().Raw(), err)
		}
	})
}

func Example() {
	c, err := ParseClient(
		[]byte(`{"client_name":"probe","client_version":"1","supported_capabilities":["sampling"]}`),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	var rules Rules
	rules.Requires[Tool], _ = ParseNeed("sampling")
	rules.Requires[Subscription], _ = ParseNeed("notifications")
	for _, place := range []PathKind{Tool, Resource, Subscription} {
		fmt.Println(rules.Allows(place, c))
	}
	// Output:
	// sampling true
	// none true
	// notifications false
}
