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

// sdkServer is the official Go SDK's server for the suite. Its version is that of the tools module.
const sdkServer = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"

// serverTime bounds the start of a server.
const serverTime = 30 * time.Second

// programs are the ones that the runs are made of, by their paths.
type programs struct {
	node       string // that runs the suite and the servers in testdata
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
	build := exec.CommandContext(t.Context(), "go", "-C", "../tools", "build", "-o", p.everything, sdkServer)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build of %s: %v\n%s", sdkServer, err, out)
	}
	return p
}

// sdkVersion is the version of the Go SDK in the tools module.
func sdkVersion(t *testing.T) string {
	mod, err := os.ReadFile("../tools/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(mod), "github.com/modelcontextprotocol/go-sdk ")
	return strings.Fields(after)[0]
}

// serveGo starts the SDK's server over HTTP and returns its URL. Stateless, it speaks either era.
func (p programs) serveGo(t *testing.T, e era) (string, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0") // it cannot say which port the kernel gave it
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
	for deadline := time.Now().Add(serverTime); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			return "http://" + addr + "/", nil
		}
	}
	return "", fmt.Errorf("%s does not listen on %s", sdkServer, addr)
}

// script is what starts a server in testdata, which speaks both eras.
func script(file string) func(programs, *testing.T, era) (string, error) {
	return func(p programs, t *testing.T, _ era) (string, error) {
		command := exec.Command(p.node, mcptest.ScriptFileWith(t, mcptest.SuiteLock, file))
		_, _ = command.StdinPipe() // its end is the end of the server, also when the test has crashed
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
		go func() { _, _ = io.Copy(io.Discard, lines) }() // it tells of every session
		return "http://127.0.0.1:" + port + "/mcp", nil
	}
}

// end ends a server with the test.
func end(t *testing.T, command *exec.Cmd) {
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
}
