package config

import (
	"strings"
	"testing"
)

// Files of other clients are accepted unchanged. Keys that mcpd knows apply. The others are
// reported with their position.
func TestFilesOfOtherClients(t *testing.T) {
	const theirs = `{
  "$schema": "https://example.com/schema.json",
  "inputs": [{"id": "x"}],
  "theme": {"dark": true},
  "mcpServers": {
    "Cline": {"command": "npx", "disabled": false, "autoApprove": ["read"], "timeout": 60},
    "Roo": {"command": "b", "cwd": "/srv/b", "alwaysAllow": [], "description": "it"},
    "Off": {"command": "c", "disabled": true, "env": {"TOKEN": "${UNSET_HERE}"}},
    "Windsurf": {"type": "streamableHttp", "serverUrl": "https://c.example/mcp"},
    "Gemini": {"httpUrl": "https://d.example/mcp", "trust": true, "headers": {"A": "b"}}
  }
}`
	fitsSchema(t, "an entry", []byte(theirs[:2]+theirs[strings.Index(theirs, `  "mcpServers"`):]))
	c := mustLoad(t, theirs)
	got := ""
	for _, s := range c.Tenants[0].Servers {
		got += s.Name + " " + s.Command.Reveal() + s.URL.Reveal() + " " + s.Cwd.Reveal() + "\n"
	}
	const want = "cline npx \nroo b /srv/b\n" +
		"windsurf https://c.example/mcp \ngemini https://d.example/mcp \n"
	if got != want {
		t.Errorf("the servers are\n%swant\n%s", got, want)
	}
	told := ""
	for _, w := range c.Warnings {
		told += w.String() + "\n"
	}
	for _, line := range []string{
		`2:3: key "$schema" is ignored`, `3:3: key "inputs"`, `4:3: key "theme"`,
		`6:52: key "autoApprove"`, `key "timeout"`, `key "alwaysAllow"`, `key "description"`,
		`8:29: server "Off" is left out, disabled is true`, `10:52: key "trust"`,
	} {
		if !strings.Contains(told, line) {
			t.Errorf("no warning of %s in\n%s", line, told)
		}
	}
	if n := len(c.Warnings); n != 9 {
		t.Errorf("%d warnings:\n%s", n, told)
	}
}

// A file of mcpd has no keys of other clients, and no entry has unknown keys.
func TestKeysOfOtherClientsHaveTheirPlace(t *testing.T) {
	for name, row := range map[string][2]string{
		"beside a key of ours": {"listen: 127.0.0.1:1\ntheme: x\nmcpServers: {a: {command: x}}",
			`unknown key "theme"`},
		"without mcpServers":   {"theme: x", `unknown key "theme"`},
		"misspelt in an entry": {"mcpServers: {a: {command: x, arg: [y]}}", `unknown key "arg"`},
		"in a server": {"tenants: {default: {servers: {a: {command: x, disabled: true}}}}",
			`unknown key "disabled"`},
		"two names of one key": {"mcpServers: {a: {url: 'http://a/', serverUrl: 'http://b/'}}",
			"url appears twice"},
		"a relative directory": {"mcpServers: {a: {command: x, cwd: sub}}", "write an absolute path"},
		"cwd of a url": {"mcpServers: {a: {url: 'http://a/', cwd: /srv}}",
			"it applies only with command"},
		"nothing to reach it": {"mcpServers: {a: {timeout: 1}}", "has none of command, url"},
		"a mistake, in a tenant": {"tenants: {default: {mcpServers: {a: {httpUrl: 'ftp://x'}}}}",
			"1:47: url is refused"},
	} {
		if _, err := Load([]byte(row[0]), options("test.yaml")); err == nil ||
			!strings.Contains(err.Error(), row[1]) {
			t.Errorf("%s: %v, want %s", name, err, row[1])
		}
	}
}
