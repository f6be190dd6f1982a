package headers_test

import (
	"testing"

	"mcpd/protocol/headers"
)

func TestAuthority(t *testing.T) {
	for text, want := range map[string][2]string{
		"Example.COM":       {"example.com", ""},
		"example.com.":      {"example.com", ""},
		"example.com.:8443": {"example.com", "8443"},
		"example.com..":     {"example.com.", ""},
		"example.com:":      {"example.com", ""},
		"[2001:DB8::1]":     {"[2001:db8::1]", ""},
		"[::1]:80":          {"[::1]", "80"},
		":443":              {"", "443"},
		".":                 {".", ""},
		"":                  {"", ""},
	} {
		if name, port := headers.Authority(text); name != want[0] || port != want[1] {
			t.Errorf("%q: got %q and %q, want %q", text, name, port, want)
		}
	}
}
