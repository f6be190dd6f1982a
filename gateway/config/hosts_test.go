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
		{"mcp.example.com:https", "", "not a host name"},
		{"::1", "", "not a host name"},
		{"[::1]", "[::1]", ""},
		{"[2001:DB8::1]:443", "[2001:db8::1]:443", ""},
		{".Example.COM", ".example.com", ""},
		{".example.com.", ".example.com", ""},
		{".XN--E1AFMKFD.XN--P1AI", ".xn--e1afmkfd.xn--p1ai", ""},
		{".com", "", "everyone can register a name below it"},
		{".COM", "", "everyone can register a name below it"},
		{".com.", "", "everyone can register a name below it"},
		{".Co.Uk", "", "everyone can register a name below it"},
		{".CO.UK.", "", "everyone can register a name below it"},
		{".GITHUB.IO", "", "everyone can register a name below it"},
		{".XN--P1AI", "", "everyone can register a name below it"},
		// All names of the form *.kawasaki.jp are public suffixes.
		{".kawasaki.jp", "", "everyone can register a name below it"},
		{".compute.amazonaws.com", "", "everyone can register a name below it"},
		{".localhost", "", "everyone can register a name below it"},
		{"..com", "", "not a host name"},
		{"..", "", "not a host name"},
		{".", "", "not a host name"},
		{"mcp.example.com..", "", "not a host name"},
		{"mcp..example.com", "", "not a host name"},
		{".example..com", "", "not a host name"},
		{":443", "", "not a host name"},
		{".example.com:443", "", "port"},
	} {
		var got []string
		wrong := ""
		if m := putHost(&got, value{text: c.given}); m != nil {
			wrong = m.reason
		}
		if !strings.Contains(wrong, c.wrong) || (wrong == "") != (c.wrong == "") {
			t.Errorf("%s: %q, want %q", c.given, wrong, c.wrong)
		}
		if c.want != "" && !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: got %v, want %s", c.given, got, c.want)
		}
	}
}
