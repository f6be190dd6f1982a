package config

import (
	"slices"
	"strings"
	"testing"
)

// Host names have no case, and a dot at their end means nothing. Neither makes the check accept a
// domain below which anybody can have a name.
func TestHosts(t *testing.T) {
	for _, c := range []struct{ given, want, wrong string }{
		{"MCP.Example.com", "mcp.example.com", ""},
		{"mcp.example.com.", "mcp.example.com", ""},
		{"mcp.example.com.:8443", "mcp.example.com:8443", ""},
		{"mcp.example.com:", "mcp.example.com", ""},
		{"mcp.example.com:https", "", "no host name"},
		{"::1", "", "no host name"},
		{"[::1]", "[::1]", ""},
		{"[2001:DB8::1]:443", "[2001:db8::1]:443", ""},
		{".Example.COM", ".example.com", ""},
		{".example.com.", ".example.com", ""},
		{".XN--E1AFMKFD.XN--P1AI", ".xn--e1afmkfd.xn--p1ai", ""},
		{".com", "", "anybody"},
		{".COM", "", "anybody"},
		{".com.", "", "anybody"},
		{".Co.Uk", "", "anybody"},
		{".CO.UK.", "", "anybody"},
		{".GITHUB.IO", "", "anybody"},
		{".XN--P1AI", "", "anybody"},
		{".kawasaki.jp", "", "anybody"}, // All names of the form *.kawasaki.jp are public suffixes.
		{".compute.amazonaws.com", "", "anybody"},
		{".localhost", "", "anybody"},
		{"..com", "", "no host name"},
		{"..", "", "no host name"},
		{".", "", "no host name"},
		{"mcp.example.com..", "", "no host name"},
		{"mcp..example.com", "", "no host name"},
		{".example..com", "", "no host name"},
		{":443", "", "no host name"},
		{".example.com:443", "", "port"},
	} {
		var got []string
		wrong := ""
		if m := putHost(&got, value{text: c.given}); m != nil {
			wrong = m.why
		}
		if !strings.Contains(wrong, c.wrong) || (wrong == "") != (c.wrong == "") {
			t.Errorf("%s: %q, want %q", c.given, wrong, c.wrong)
		}
		if c.want != "" && !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: got %v, want %s", c.given, got, c.want)
		}
	}
}
