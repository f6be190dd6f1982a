package supervisor

import (
	"maps"
	"testing"

	"mcpd/gateway/tenant"
)

// The dialect of a URL is forgotten when its server has another URL, or is configured no more.
func TestDialectsAreForgotten(t *testing.T) {
	h := &host{}
	h.settings.Store(&settings{tenants: map[string]*tenant.Tenant{
		"acme": {Servers: []tenant.Server{{Name: "files"}, {Name: "search"}}},
	}})
	first := h.dialectOf(dialectKey{"acme", "files", "http://a"}, false)
	if h.dialectOf(dialectKey{"acme", "files", "http://a"}, false) != first {
		t.Error("one URL has two dialects")
	}
	for _, k := range []dialectKey{
		{"acme", "search", "http://a"}, {"acme", "removed", "http://a"}, {"globex", "files", "http://a"},
		{"acme", "files", "http://b"},
	} {
		h.dialectOf(k, false)
	}
	got := map[dialectKey]bool{}
	h.dialects.Range(func(key, _ any) bool { got[key.(dialectKey)] = true; return true })
	want := map[dialectKey]bool{{"acme", "files", "http://b"}: true, {"acme", "search", "http://a"}: true}
	if !maps.Equal(got, want) {
		t.Errorf("kept %v, want %v", got, want)
	}
}
