package conformance

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// sdkServer is the official Go SDK's server for the suite. The tools module fixes its version.
const sdkServer = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"

// serverTime bounds the start of a server.
const serverTime = 30 * time.Second

// programs are the paths of the programs that the runs use.
type programs struct {
	node       string // runs the suite and the servers in testdata
	suite      string
	everything string // sdkServer
}

// prepare fetches and builds the programs.
func prepare(t *testing.T) programs {
	var p programs
	find := exec.CommandContext(t.Context(), "npx", "-y", "-p", nodePackage, "-p", suitePackage,
		"-c", "command -v node && command -v conformance")
	find.Stderr = os.Stderr
	out, err := find.Output()
	paths := strings.Fields(string(out))
	if err != nil || len(paths) != 2 {
		t.Fatalf("npx found %q: %v", out, err)
	}
	p.node, p.suite = paths[0], paths[1]
	p.everything = filepath.Join(t.TempDir(), "everything-server")
	build := exec.CommandContext(t.Context(), "go", "-C", "../tools", "build", "-o",
		p.everything, sdkServer)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build of %s: %v\n%s", sdkServer, err, out)
	}
	return p
}

// sdkVersion returns the version of the Go SDK in the go.mod of the tools module.
func sdkVersion(t *testing.T) string {
	mod, err := os.ReadFile("../tools/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(mod), "github.com/modelcontextprotocol/go-sdk ")
	return strings.Fields(after)[0]
}

// serveGo starts the SDK's server over HTTP and returns its URL. A stateless server speaks either
// era.
func (p programs) serveGo(t *testing.T, e era) (string, error) {
	// The server cannot report a port that the kernel chose.
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	addr := free.Addr().String()
	free.Close()
	command := exec.Command(p.everything, "-http", addr, fmt.Sprintf("-stateless=%t", e == modern))
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		return "", err
	}
	end(t, command)
	for deadline := time.Now().Add(
		serverTime); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			return "http://" + addr + "/", nil
		}
	}
	return "", fmt.Errorf("%s does not listen on %s", sdkServer, addr)
}

// script returns a function that starts a server in testdata. Such a server speaks both eras.
func script(file string) func(programs, *testing.T, era) (string, error) {
	return func(p programs, t *testing.T, _ era) (string, error) {
		command := exec.Command(p.node, mcptest.ScriptFileWith(t, mcptest.SuiteLock, file))
		// The server exits when this pipe closes, which also happens when the test crashes.
		_, _ = command.StdinPipe()
		out, err := command.StdoutPipe()
		if err != nil {
			return "", err
		}
		var errors bytes.Buffer
		command.Stderr = &errors
		if err := command.Start(); err != nil {
			return "", err
		}
		end(t, command)
		lines := bufio.NewReader(out)
		line, err := lines.ReadString('\n')
		port, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
		if err != nil || !ok {
			_ = command.Process.Kill()
			return "", fmt.Errorf("%s said %q: %w\n%s", file, line, err, &errors)
		}
		go func() { _, _ = io.Copy(io.Discard, lines) }() // the server logs every session
		return "http://127.0.0.1:" + port + "/mcp", nil
	}
}

// end kills a server when the test ends.
func end(t *testing.T, command *exec.Cmd) {
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
}
