package subscription_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/subscription"
)

// Extension filters stay unchanged, and have a name that is not a URI.
func TestFilterOfExtensions(t *testing.T) {
	for params, want := range map[string]string{
		`{"notifications":{}}`: "",
		`{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a"]}}`: "",
		`{"notifications":{"acme":{"a":[1, 2]},"toolsListChanged":true,"b":null}}`:  `{"acme":{"a":[1, 2]},"b":null}`,
	} {
		f, err := subscription.ParseFilter(jsontext.Value(params))
		if err != nil || string(f.Extensions) != want {
			t.Errorf("%s: %s, %v", params, f.Extensions, err)
		}
		named, ok := subscription.FilterFromName(f.Name())
		if ok != (want != "") || string(named.Extensions) != want {
			t.Errorf("%s: named %q leads to %s, %t", params, f.Name(), named.Extensions, ok)
		}
		if ok && string(named.Params()) != `{"notifications":`+want+`}` {
			t.Errorf("asked for with %s", named.Params())
		}
		if got := f.Grant(protocol.ServerCapabilities{}); len(got.Extensions) > 0 {
			t.Errorf("granted %s", got.Extensions)
		}
	}
	if _, ok := subscription.FilterFromName("file:///x"); ok {
		t.Error("a URI is taken for a filter")
	}
}
