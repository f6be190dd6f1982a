package tenant

import (
	"strings"
	"testing"

	"mcpd/protocol/negotiation"
)

// S3-28: the paths of the negotiation API are below those of the MCP endpoints. A name is one
// segment, or a parameter.
func TestActionIsFound(t *testing.T) {
	at := func(path string) Route {
		r, ok := ParsePath(path)
		if !ok {
			t.Fatalf("%q is no path", path)
		}
		return r
	}
	for target, want := range map[string]Action{
		"/mcp/negotiate":               {Route: at("/mcp"), Negotiate: true},
		"/files/mcp/negotiate":         {Route: at("/files/mcp"), Negotiate: true},
		"/t/acme/mcp/negotiate":        {Route: at("/t/acme/mcp"), Negotiate: true},
		"/t/mcp/mcp/negotiate":         {Route: at("/t/mcp/mcp"), Negotiate: true},
		"/mcp/tool/negotiate":          {Route: at("/mcp"), Name: "negotiate"},
		"/mcp/tool/files__read":        {Route: at("/mcp"), Name: "files__read"},
		"/mcp/tool?name=a%2Fb":         {Route: at("/mcp"), Name: "a/b"},
		"/mcp/tool/mcp?name=other":     {Route: at("/mcp"), Name: "mcp"},
		"/t/acme/files/mcp/tool/a%2Fb": {Route: at("/t/acme/files/mcp"), Name: "a/b"},
		"/mcp/resource/file%3A%2F%2F%2Fa%20b": {Route: at("/mcp"), Place: negotiation.Resource,
			Name: "file:///a b"},
		"/mcp/resource?uri=file:///a%20b%3Fc%26d": {Route: at("/mcp"), Place: negotiation.Resource,
			Name: "file:///a b?c&d"},
		"/files/mcp/subscription/x%3A%2F%2Fy": {Route: at("/files/mcp"),
			Place: negotiation.Subscription, Name: "x://y"},
		"/t/tool/mcp/tool/tool": {Route: at("/t/tool/mcp"), Name: "tool"},
		"/mcp/resource/" + strings.Repeat("a", 4<<10): {Route: at("/mcp"), Place: negotiation.Resource,
			Name: strings.Repeat("a", 4<<10)},
	} {
		path, query, _ := strings.Cut(target, "?")
		if got, ok := ParseAction(path, query); !ok || got != want {
			t.Errorf("%.60s = %+v, %v, want %+v", target, got, ok, want)
		}
	}
}

// The API itself refuses a path of its own whose name is missing, or is not one percent-encoded
// segment.
func TestActionWithoutAName(t *testing.T) {
	for _, target := range []string{
		"/mcp/tool", "/mcp/tool/", "/mcp/tool/a/b", "/mcp/tool?name=", "/mcp/tool?name=a&name=b",
		"/mcp/resource?uri=%zz", "/mcp/resource/%zz",
		"/mcp/resource/file:///a", "/mcp/resource/test://mcp/tool/x", "/mcp/tool/%ff", "/mcp/tool?uri=x",
		"/mcp/resource/" + strings.Repeat("a", 9<<10),
	} {
		path, query, _ := strings.Cut(target, "?")
		want := Action{Route: Route{Tenant: Default}}
		if strings.HasPrefix(target, "/mcp/resource") {
			want.Place = negotiation.Resource
		}
		if got, ok := ParseAction(path, query); !ok || got != want {
			t.Errorf("%.60s = %+v, %v, want %+v", target, got, ok, want)
		}
	}
}

// Other paths do not belong to the API, and may be served otherwise.
func TestActionTricksNameNothing(t *testing.T) {
	for _, target := range []string{
		"", "/", "*", "/mcp", "/t/mcp/mcp", "/mcp/", "/mcp/negotiate/", "/mcp/Negotiate", "/mcp/tools/x",
		"/mcp/tools",
		"/mcp/mcp/negotiate", "/t/acme/negotiate", "/negotiate", "/sse/mcp/tool/x", "/t/Acme/mcp/tool/x",
		"/t/%61/mcp/negotiate",
	} {
		path, query, _ := strings.Cut(target, "?")
		if got, ok := ParseAction(path, query); ok {
			t.Errorf("%.60s = %+v, want nothing", target, got)
		}
	}
}
