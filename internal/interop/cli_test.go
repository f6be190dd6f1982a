package interop

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// mcpd runs a command until it exits, and returns its exit code and all of its output.
func mcpd(t *testing.T, stdin string, env []string, args ...string) (code int, said string) {
	t.Helper()
	command := exec.Command(mcptest.Mcpd(t), args...)
	command.Dir = t.TempDir()
	command.Stdin = strings.NewReader(stdin)
	command.Env = append(os.Environ(), append([]string{
		"HOME=" + command.Dir, "XDG_CONFIG_HOME=" + command.Dir, "XDG_STATE_HOME=" + command.Dir,
		"XDG_RUNTIME_DIR=" + command.Dir,
		"MCPD_CONFIG=", "MCPD_ADMIN=", "MCPD_KEY=", "MCPD_URL=",
	}, env...)...)
	command.WaitDelay = patience
	timer := time.AfterFunc(patience, func() { _ = command.Process.Kill() })
	defer timer.Stop()
	text, err := command.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode(), string(text)
	case err != nil:
		t.Fatal(err)
	}
	return 0, string(text)
}

// A command that fails prints one line that names the object and the reason, and a remedy where
// that helps. Its exit code tells the kind of failure.
func TestCommandsSayWhatIsWrong(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	host := startTwoTenants(t)
	dir := t.TempDir()
	config := func(text string) string {
		f, err := os.CreateTemp(dir, "*.yaml")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		return f.Name()
	}
	const serve, ports = "serve", "--listen=127.0.0.1:0 --admin=127.0.0.1:0"
	port := taken.Addr().String()
	tests := []struct {
		name string
		args string // separated by spaces
		env  []string
		code int
		want string // pattern
	}{
		{"configuration that is not there", "serve --config " + dir + "/no.yaml", nil, 78,
			`no\.yaml: .*no such file`},
		{"the same by variable", serve, []string{"MCPD_CONFIG=" + dir + "/no.yaml"}, 78,
			`no\.yaml: .*no such file`},
		{"configuration that is a folder", "config check " + dir, nil, 78, `this is not a regular file`},
		{"no YAML", "serve --config " + config("tenants: {a: ["), nil, 78, `yaml:1:\d+: `},
		{"unknown key", "serve --config " +
			config("tenants:\n  acme:\n    servers:\n      x: {comand: npx}\n"), nil, 78,
			`yaml:4:11: unknown key "comand".* did you mean "command"\?`},
		{"wrong type", "config check " + config("tenants: {acme: {servers: {x: {command: [a, b]}}}}\n"),
			nil, 78, `yaml:1:\d+: command is a list`},
		{"every mistake at once",
			"config check " + config(
				"listn: x\nlimits: {max_body: 1}\ntenants: {a: {servers: {X: {builtin: dem}}}}\n",
			), nil, 78, `(?s)yaml:1:1: .*yaml:2:20: .*yaml:3:25: `},
		{"variable that is not set",
			"serve --config " + config("tenants:\n  a:\n    servers:\n      s: {url: "+
				"\"http://127.0.0.1:1/\", headers: {Authorization: \"Bearer ${env:NOT_THERE}\"}}\n"), nil, 78,
			`yaml:4:\d+: .*NOT_THERE`},
		{"two ways to one server",
			"config check " + config("mcpServers: {x: {command: a, url: \"http://127.0.0.1/\"}}\n"), nil, 78,
			`yaml:1:14: .*command and url`},
		{"open to the world", "serve --listen=0.0.0.0:0 --admin=127.0.0.1:0", nil, 78,
			`tenant "default" has no key`},
		{"admin open to the world", "serve --listen=127.0.0.1:0 --admin=0.0.0.0:0", nil, 78,
			`admin\.listen is 0\.0\.0\.0:0`},
		{"no address", "serve --listen=here", nil, 78, `--listen.*"?here`},
		{"MCP's port in use", "serve --admin=127.0.0.1:0 --listen=" + port, nil, 1,
			`listen tcp4? ` + port + `: .*address already in use`},
		{"admin's port in use", "serve --listen=127.0.0.1:0 --admin=" + port, nil, 1,
			`listen tcp4? ` + port + `: .*address already in use`},
		{"second daemon", "serve " + ports + " --state-dir " + host.State, nil, 1,
			`another mcpd uses ` + host.State},
		{"state that cannot be kept", "serve " + ports + " --state-dir /proc/nowhere", nil, 1,
			`state directory: .*/proc/nowhere`},
		{"certificate that is not there",
			"serve " + ports + " --config " +
				config("tls: {cert: /no/cert.pem, key: /no/key.pem}\ntenants: {a: {servers: {d: {builtin: "+
					"demo}}}}\n"), nil, 1, `/no/cert\.pem`},
		{"no host to show", "tree --admin 127.0.0.1:1", nil, 69,
			`no host answers at 127\.0\.0\.1:1: .*connection refused`},
		{"no address of a host", "tree --admin localhost", nil, 2,
			`--admin "localhost" is not host:port`},
		{"MCP's listener is no admin listener", "tree --admin " + strings.TrimPrefix(host.MCP, "http://"),
			nil, 69, `answers 404`},
		{"no host to call", "call demo echo", []string{"MCPD_URL=http://127.0.0.1:1"}, 69,
			`no host answers at http://127\.0\.0\.1:1/demo/mcp: .*connection refused`},
		{"call without a key", "call acme/proc echo", []string{"MCPD_URL=" + host.MCP}, 77,
			`refuses the key in \$MCPD_KEY, or \$MCPD_KEY is not set`},
		{"call with a wrong key", "call acme/proc echo",
			[]string{"MCPD_URL=" + host.MCP, "MCPD_KEY=nobody"}, 77, `refuses the key in \$MCPD_KEY`},
		{"call of an unknown server", "call acme/nowhere echo",
			[]string{"MCPD_URL=" + host.MCP, "MCPD_KEY=key-of-ann"}, 69,
			`there is no server nowhere: the tenant has `},
		{"call of a server that is not there", "call acme/dead echo",
			[]string{"MCPD_URL=" + host.MCP, "MCPD_KEY=key-of-ann"}, 69, `/no/such/program`},
		{"call of an unknown tool", "call acme/proc nothing",
			[]string{"MCPD_URL=" + host.MCP, "MCPD_KEY=key-of-ann"}, 1, `unknown tool "nothing"`},
		{"call of a tool that fails", "call acme/proc fail --arg text=it",
			[]string{"MCPD_URL=" + host.MCP, "MCPD_KEY=key-of-ann"}, 1, `it failed`},
		{"call of no server", "call acme//x echo", nil, 2, `"acme//x" is not a server`},
		{"call without a tool", "call demo", nil, 2, `name a server and a tool`},
		{"argument without a value", "call acme/proc echo --arg text",
			[]string{"MCPD_URL=" + host.MCP, "MCPD_KEY=key-of-ann"}, 2, `--arg "text": write name=value`},
		{"unknown command", "start", nil, 2, `unknown command "start"`},
		{"unknown flag", "serve --port 1", nil, 2, `unknown flag: --port`},
		{"argument too many", "serve now", nil, 2, `unknown command "now"`},
		{"key with no name", "key new --name=", nil, 2, `--name ""`},
		{"stdio for an unknown server",
			"stdio --server nowhere --config " + config("mcpServers: {d: {command: x}}\n"), nil, 78,
			`no tenant "default" with a server "nowhere"`},
		{"stdio for no name", "stdio --tenant A/B", nil, 2, `--tenant "A/B"`},
		{"stdio with no URL", "stdio --url here", nil, 2, `--url "here" is not an http or https URL`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			code, said := mcpd(t, "", test.env, strings.Fields(test.args)...)
			if code != test.code || !regexp.MustCompile(test.want).MatchString(said) {
				t.Errorf("exit code = %d, want %d; said, want %s:\n%s", code, test.code, test.want, said)
			}
			if strings.Contains(said, "panic") || strings.Contains(said, "goroutine") {
				t.Errorf("said too much:\n%s", said)
			}
		})
	}
	if found, err := filepath.Glob(filepath.Join(dir, "mcpd*")); err != nil || len(found) > 0 {
		t.Errorf("left behind: %v, %v", found, err)
	}
}

// If `mcpd stdio` cannot serve its client, it answers with a protocol error and exits. Its exit
// code tells the kind of failure; the code is 0 if its input ends.
func TestStdioTellsItsClientWhatIsWrong(t *testing.T) {
	host := startTwoTenants(t)
	tests := []struct {
		name, url, key, input string
		code                  int
		want                  string
	}{
		{"wrong key", host.MCP + "/t/acme/mcp", "nobody", hello, 77,
			`"id":0,"error":\{.*(authentication required|401)`},
		{"unknown server", host.MCP + "/t/acme/nowhere/mcp", "key-of-ann", hello, 69,
			`"id":0,"error":\{.*(there is no server nowhere|404)`},
		{"no host", "http://127.0.0.1:1", "", hello, 69, `"id":0,"error":\{.*connection refused`},
		{"no JSON", host.MCP + "/t/acme/mcp", "key-of-ann", "{", 0, `"error":\{"code":-32700`},
		{"a call before initialize", host.MCP + "/t/acme/mcp", "key-of-ann",
			`{"jsonrpc":"2.0","id":5,"method":"tools/list"}`, 0, `"id":5,"error":\{"code":-32(600|005)`},
	}
	for _, test := range tests {
		code, said := mcpd(t, test.input+"\n", []string{"MCPD_KEY=" + test.key}, "stdio",
			"--url", test.url)
		if code != test.code || !regexp.MustCompile(test.want).MatchString(said) {
			t.Errorf("%s: exit code = %d, want %d; said, want %s:\n%s", test.name, code, test.code,
				test.want, said)
		}
	}
}
