package config

import (
	"strings"
	"testing"
)

// Messages say where a mistake is and what to do, and do not repeat a value that may be secret:
// neither the apparent name of a variable in a password nor a refused value.
func TestMessagesHaveNoSecrets(t *testing.T) {
	const tail = "Tk99zzTopSecretTail"
	server := func(s string) string { return "tenants: {acme: {servers: {s: {" + s + "}}}}" }
	for _, c := range []struct{ text, message string }{
		{server(`url: "http://a.example/mcp", headers: {Authorization: "Bearer s3cr$` + tail + `"}`),
			"headers.Authorization has a variable like $NAME in it"},
		{server(`url: "http://a.example/mcp", headers: {X-Key: "a{env:` + tail + `}"}`),
			"headers.X-Key has a variable like {env:NAME} in it"},
		{server(`command: cat, env: {PASSWORD: "x$` + tail + `"}`),
			"env.PASSWORD has a variable like $NAME in it"},
		{server(`command: cat, env: {PASSWORD: "x{{` + tail + `}}"}`),
			"env.PASSWORD has a variable like {{NAME}} in it"},
		{server(`command: cat, env: {PASSWORD: "x%` + strings.ToUpper(tail) + `%"}`),
			"env.PASSWORD has a variable like %NAME% in it"},
		{server(`command: cat, args: [--password, "x$` + tail + `"]`),
			"args[1] has a variable like $NAME in it"},
		{server(`command: cat, args: ["--password=x$` + tail + `"]`),
			"args[0] has a variable like $NAME in it"},
		{server(`url: "http://a.example/mcp?token=a$` + tail + `"`),
			"url has a variable like $NAME in it"},
		{server(`url: "http://a.example/mcp", proxy: "http://u:p$` + tail + `@p.example:1"`),
			"proxy has a variable like $NAME in it"},
		{server(`command: cat, env: {PASSWORD: "x${` + tail + `}"}`),
			"env.PASSWORD is refused, a variable needs the prefix env: here"},
		{server(`command: cat, env: {PASSWORD: "x${` + tail + `:-y}"}`),
			"env.PASSWORD is refused, a variable needs the prefix env: here"},
		{server(`command: cat, env: {PASSWORD: "x${TOKEN:-` + tail + `}"}`),
			"env.PASSWORD is refused, a variable needs the prefix env: here"},
		{server(`command: cat, env: {PASSWORD: "x${1 ` + tail + `}"}`), "env.PASSWORD is refused"},
		{server(`command: cat, env: {"PASSWORD=` + tail + `": "x"}`), "env.PASSWORD is refused"},
		{server(`url: "http://a.example/mcp", headers: {"Authorization: Bearer ` + tail + `": "x"}`),
			"headers.Authorization is refused"},
		{server(`url: "http://a.example/mcp", headers: {X-Key: 12345678}`),
			"headers.X-Key is a number or boolean, a text was expected, put quotes around it"},
		{"tenants: {acme: {auth: {keys: [{name: ci, sha256: 12345678}]}}}",
			"sha256 is a number or boolean"},
		{server(`command: cat, env_pass: ["PASSWORD=` + tail + `"]`), "env_pass[0] is refused"},
	} {
		got, err := Load([]byte(c.text), Options{File: "f"})
		told := ""
		if err != nil {
			told = err.Error()
		} else {
			told = got.Warnings.Error()
		}
		if !strings.Contains(told, c.message) {
			t.Errorf("%s: got %q, want %q", c.text, told, c.message)
		}
		if strings.Contains(strings.ToLower(told), strings.ToLower(tail)) ||
			strings.Contains(told, "12345678") {
			t.Errorf("%s: repeated in %q", c.text, told)
		}
	}
}
