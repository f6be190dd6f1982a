package config

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

// weakHash is the SHA-256 of foo.
const weakHash = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"

// A configuration that is probably unintended is accepted, with a warning that says where.
func TestWarningsAreExplained(t *testing.T) {
	machine := Machine{
		Program: func(name string) error {
			if name == "missing" {
				return errors.New("not found in PATH")
			}
			return nil
		},
		Directory: func(path string) error {
			if path == "/no/such" {
				return errors.New("no such directory")
			}
			return nil
		},
		Addresses: func() []netip.Addr {
			return []netip.Addr{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")}
		},
	}
	server := func(s string) string { return "tenants: {acme: {servers: {s: " + s + "}}}" }
	key := "tenants: {acme: {auth: {keys: [{name: ci, sha256: " + strings.Repeat("ab", 32) +
		"}]}, servers: {}}}"
	keyed := func(listen, url string) string {
		return "listen: '" + listen +
			"'\nhosts: [mcp.example.com, .apps.example.com]\ntenants: {acme: {auth: {keys: [{name: ci, " +
			"sha256: " +
			strings.Repeat("ab", 32) + "}]}, servers: {s: {url: \"" + url + "\"}}}}"
	}
	for _, c := range []struct {
		name, text string
		// want is empty for no warning.
		want string
	}{
		{"nothing", server("{command: npx, args: [-y, x], cwd: /srv}"), ""},
		{"a missing program", server("{command: missing}"),
			"1:41: server \"s\": missing cannot be run, not found in PATH"},
		{"a missing directory", server("{command: npx, cwd: /no/such}"),
			"there is no directory /no/such, no such directory"},
		{"the host itself", server(`{url: "http://localhost:7420/mcp"}`),
			`server "s" is this host itself`},
		{"the host itself by address", server(`{url: "http://127.0.0.1:7420/t/b/mcp"}`),
			`server "s" is this host itself`},
		{"the host itself in capitals", server(`{url: "http://LOCALHOST:7420/mcp"}`),
			`server "s" is this host itself`},
		{"the host itself with a dot", server(`{url: "http://localhost.:7420/mcp"}`),
			`server "s" is this host itself`},
		{"the host itself by any address", server(`{url: "http://0.0.0.0:7420/mcp"}`),
			`server "s" is this host itself`},
		{"the host itself at localhost",
			"listen: localhost:7420\n" + server(`{url: "http://127.0.0.1:7420/mcp"}`),
			`server "s" is this host itself`},
		{"the host itself by a name", keyed("[::]:443", "https://mcp.example.com/t/acme/mcp"),
			`server "s" is this host itself`},
		{"the host itself by a name in capitals",
			keyed("0.0.0.0:443", "https://MCP.example.com.:443/mcp"), `server "s" is this host itself`},
		{"the host itself by an own address", keyed("0.0.0.0:7420", "http://192.0.2.7:7420/mcp"),
			`server "s" is this host itself`},
		{"the host itself by one of IPv6", keyed(":7420", "http://[2001:DB8::7]:7420/mcp"),
			`server "s" is this host itself`},
		{"an own address where none of it listens",
			keyed("0.0.0.0:7420", "http://[2001:db8::7]:7420/mcp"), ""},
		{"another address where it listens everywhere",
			keyed("0.0.0.0:7420", "http://192.0.2.8:7420/mcp"), ""},
		{"a subdomain that may be another's", keyed("0.0.0.0:443", "https://a.apps.example.com/mcp"), ""},
		{"another port of the same name", keyed("0.0.0.0:443", "https://mcp.example.com:8443/mcp"), ""},
		{"another port", server(`{url: "http://127.0.0.1:7422/mcp"}`), ""},
		{"another machine", server(`{url: "http://192.0.2.1:7420/mcp"}`), ""},
		{"a variable of a shell", server("{command: npx, args: [--token, $TOKEN]}"),
			"server \"s\": args[1] has a variable like $NAME in it"},
		{"the same for a shell", server("{command: sh, args: [-c, exec npx $NAME]}"), ""},
		{"the same by its path", server("{command: /bin/bash, args: [-c, exec npx $NAME]}"), ""},
		{"a shell's environment", server("{command: sh, env: {A: $HOME}}"),
			"server \"s\": env.A has a variable like $NAME in it"},
		{"a variable of other clients",
			server(`{url: "http://127.0.0.1:1/mcp", headers: {Authorization: "Bearer {env:TOKEN}"}}`),
			"headers.Authorization has a variable like {env:NAME} in it"},
		{"of templates", server(`{url: "http://127.0.0.1:1/{{path}}/mcp"}`),
			"url has a variable like {{NAME}} in it"},
		{"of Windows", server(`{command: npx, env: {A: "%USERPROFILE%"}}`),
			"env.A has a variable like %NAME% in it"},
		{"a price", server("{command: npx, args: [costs $5]}"), ""},
		{"our own", server("{command: npx, args: ['${env:HOME}', '${env:NO:-$x}']}"),
			"has a variable like $NAME in it"},
		{"our own alone", server("{command: npx, args: ['${env:HOME}']}"), ""},
		{"written out on purpose", server("{command: npx, args: ['$${HOME}']}"), ""},
		{"all addresses", "listen: 0.0.0.0:7420\n" + key,
			"1:9: listen is 0.0.0.0:7420 and there are no hosts"},
		{"all addresses of IPv6", "listen: '[::]:7420'\n" + key, "there are no hosts"},
		{"all addresses with a name", "listen: 0.0.0.0:7420\nhosts: [mcp.example.com]\n" + key, ""},
		{"origins without TLS", "listen: 192.0.2.1:7420\norigins: [https://a.example]\n" + key,
			"2:10: there are origins, and listen is 192.0.2.1:7420 without TLS"},
		{"origins behind a proxy",
			"listen: 192.0.2.1:7420\ntrusted_proxies: [192.0.2.0/24]\norigins: [https://a.example]\n" + key,
			""},
		{"origins on loopback", "origins: [https://a.example]\n" + key, ""},
		{"one address", "listen: 192.0.2.1:7420\n" + key, ""},
		{"a key that anybody guesses",
			"tenants: {acme: {auth: {keys: [{name: ci, sha256: " + weakHash + "}]}, servers: {}}}",
			`tenant "acme": the key ci is "foo", anybody can guess it`},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := func(name string) (string, bool) {
				return map[string]string{"HOME": "/root"}[name], name == "HOME"
			}
			got, err := Load([]byte(c.text), Options{File: "f", Env: env, Machine: machine})
			if err != nil {
				t.Fatal(err)
			}
			if told := got.Warnings.Error(); !strings.Contains(told, c.want) ||
				(c.want == "") != (told == "") {
				t.Errorf("got %q, want %q", told, c.want)
			}
		})
	}
}

// A key that anybody can guess is refused if other machines can reach the listener.
func TestWeakKeysAreRefusedBeyondLoopback(t *testing.T) {
	text := "listen: 0.0.0.0:7420\nhosts: [a.example]\ntenants: {acme: {auth: {keys: [{name: ci, " +
		"sha256: " + weakHash + "}]}, servers: {}}}"
	if _, err := Load([]byte(text), Options{File: "f"}); err == nil ||
		!strings.Contains(err.Error(), `the key ci is "foo"`) {
		t.Errorf("got %v", err)
	}
}
