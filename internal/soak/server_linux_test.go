package soak

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/internal/mcptest"
)

// The test binary is a counting server if ledgerVariable names a ledger. It serves on standard
// input and output, or at the address in addressVariable.
const (
	ledgerVariable  = "SOAK_LEDGER"
	addressVariable = "SOAK_ADDRESS"
	// ownerVariable marks the processes of a server: PID OF THE TEST/TENANT/SERVER.
	ownerVariable = "SOAK_SERVER"
)

// count runs a counting server. Its one tool appends its text to the ledger, as one line, and
// answers with the text.
func count(ledger string) error {
	file, err := os.OpenFile(ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	type in struct {
		Text string `json:"text"`
	}
	made := func() *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "count", Version: "1"}, nil)
		mcp.AddTool(s, &mcp.Tool{Name: "note"},
			func(_ context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, any, error) {
				if _, err := file.WriteString(in.Text + "\n"); err != nil {
					return nil, nil, err
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
			})
		return s
	}
	addr := os.Getenv(addressVariable)
	if addr == "" {
		return made().Run(context.Background(), &mcp.StdioTransport{})
	}
	return http.ListenAndServe(addr, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		return made()
	}, nil))
}

// service is a server that every tenant has.
type service struct {
	name    string
	remote  bool
	counted bool // the server has a ledger
	tool    tool
	// command returns the program with its arguments, and its environment, for a folder and an
	// address.
	command func(t *testing.T, dir, addr string) (line, env []string)
}

// services returns all servers in the full form, and those that start fast in the short form.
func services() []service {
	self := func(*testing.T, string, string) (line, env []string) { return []string{os.Args[0]}, nil }
	all := []service{
		{name: "count", counted: true, tool: tool{name: "note", arguments: with("text")}, command: self},
		{name: "remote", remote: true, counted: true, tool: tool{name: "note", arguments: with("text")},
			command: self},
		{name: "everything", tool: tool{name: "echo", arguments: with("message")},
			command: published("everything")},
	}
	if *full {
		all = append(all,
			service{
				name: "web", remote: true, tool: tool{name: "echo", arguments: with("message")},
				command: published("everything", "streamableHttp"),
			},
			// The answer is a tool error that quotes the argument. The call leaves nothing behind.
			service{name: "memory", tool: tool{name: "add_observations",
				arguments: func(nonce string) map[string]any {
					return map[string]any{
						"observations": []any{map[string]any{"entityName": nonce, "contents": []any{"x"}}},
					}
				}}, command: published("memory")},
			service{name: "files", tool: tool{name: "read_text_file",
				arguments: func(nonce string) map[string]any {
					return map[string]any{"path": nonce}
				}}, command: published("filesystem", "$DIR")},
		)
	}
	for i := range all {
		all[i].tool.server = all[i].name
	}
	return all
}

func with(argument string) func(string) map[string]any {
	return func(nonce string) map[string]any { return map[string]any{argument: nonce} }
}

func published(name string, args ...string) func(*testing.T, string, string) (line, env []string) {
	return func(t *testing.T, dir, addr string) (line, env []string) {
		line = []string{
			"node", filepath.Join(mcptest.Package(t, "@modelcontextprotocol/server-"+name), "dist/index.js"),
		}
		for _, arg := range args {
			line = append(line, strings.ReplaceAll(arg, "$DIR", dir))
		}
		_, port, _ := strings.Cut(addr, ":")
		return line, []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + dir,
			"MEMORY_FILE_PATH=" + filepath.Join(dir, "memory.jsonl"), "PORT=" + port,
		}
	}
}

// running is a server of a tenant.
type running struct {
	service
	tenant, dir, addr string // addr is empty unless the server is remote
	line, env         []string

	mu      sync.Mutex
	process *exec.Cmd // of a remote server
}

// mark is in the environment of the server's processes, and of no process of another run.
func (r *running) mark() string {
	return fmt.Sprintf("%s=%d/%s/%s", ownerVariable, os.Getpid(), r.tenant, r.name)
}

func (r *running) ledger() string { return filepath.Join(r.dir, "ledger") }

// prepare creates the folder of a tenant's server, and starts the server if it is remote.
func prepare(t *testing.T, s service, tenant string) *running {
	t.Helper()
	r := &running{service: s, tenant: tenant, dir: t.TempDir()}
	if s.remote {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		r.addr = free.Addr().String()
		free.Close()
	}
	r.line, r.env = s.command(t, r.dir, r.addr)
	r.env = append(r.env, r.mark())
	if s.counted {
		r.env = append(r.env, ledgerVariable+"="+r.ledger(), addressVariable+"="+r.addr)
	}
	if s.remote {
		r.begin(t)
		t.Cleanup(r.kill)
	}
	return r
}

// begin starts a remote server and returns when it listens.
func (r *running) begin(t *testing.T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process = exec.Command(r.line[0], r.line[1:]...)
	r.process.Dir, r.process.Env = r.dir, r.env
	if err := r.process.Start(); err != nil {
		t.Error(err)
		return
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", r.addr); err == nil {
			c.Close()
			return
		}
	}
	t.Errorf("%s/%s does not listen at %s", r.tenant, r.name, r.addr)
}

// kill kills a remote server.
func (r *running) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.process.Process.Kill()
	_ = r.process.Wait()
}

// declared returns the configuration of the server. A reload changes the variable generation.
func (r *running) declared(generation int) string {
	if r.remote {
		return fmt.Sprintf("{url: \"http://%s/mcp\", headers: {X-Generation: \"%d\"}}",
			r.addr, generation)
	}
	var env []string
	for _, each := range append(r.env, fmt.Sprintf("GENERATION=%d", generation)) {
		name, value, _ := strings.Cut(each, "=")
		env = append(env, fmt.Sprintf("%s: %q", name, value))
	}
	return fmt.Sprintf("{command: %q, args: [%s], cwd: %q, env: {%s}}", r.line[0], quoted(r.line[1:]),
		r.dir, strings.Join(env, ", "))
}

func quoted(all []string) string {
	var out []string
	for _, each := range all {
		out = append(out, fmt.Sprintf("%q", each))
	}
	return strings.Join(out, ", ")
}
