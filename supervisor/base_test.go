package supervisor

import "testing"

func TestPathsBelowABase(t *testing.T) {
	for _, c := range []struct{ base, path, want string }{
		{"", "/t/acme/mcp", "/t/acme/mcp"},
		{"/ai", "/ai/t/acme/mcp", "/t/acme/mcp"},
		{"/ai", "/t/acme/mcp", "/t/acme/mcp"},
		{"/ai", "/aint/acme/mcp", "/aint/acme/mcp"},
		{"/ai", "/ai", "/ai"},
		{"/ai", "/ai/", "/"},
		{"/ai", "/AI/mcp", "/AI/mcp"},
		{"/ai/tools", "/ai/tools/mcp", "/mcp"},
		{"/ai", "/ai/ai/mcp", "/ai/mcp"},
	} {
		if got := below(c.base, c.path); got != c.want {
			t.Errorf("%s below %q: got %s, want %s", c.path, c.base, got, c.want)
		}
	}
}
