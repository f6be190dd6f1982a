package parity

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// serverSet holds the servers of one of the three ways. They have their own folders, and servers
// behind a URL have their own processes.
type serverSet struct {
	base string
	urls map[string]string // by the server's name
}

// listenTime limits the start of a server that listens.
const listenTime = time.Minute

// newServerSet creates the folders and starts the servers that have a URL.
func newServerSet(t *testing.T, name string, all []published) *serverSet {
	t.Helper()
	// One of the servers prints paths in lower case, so the name of the folder has no capitals.
	base, err := os.MkdirTemp("", "parity-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	if base, err = filepath.EvalSymlinks(base); err != nil {
		t.Fatal(err)
	}
	p := &serverSet{base: filepath.Join(base, name), urls: map[string]string{}}
	for _, s := range all {
		if err := p.fill(s); err != nil {
			t.Fatal(err)
		}
		if s.kind != stdio {
			p.urls[s.name] = p.listen(t, s)
		}
	}
	return p
}

func (p *serverSet) dir(s published) string { return filepath.Join(p.base, s.name) }

// fill deletes the folder of a server and creates it again with its initial content.
func (p *serverSet) fill(s published) error {
	if err := errors.Join(os.RemoveAll(p.dir(s)), os.MkdirAll(p.dir(s), 0o755)); err != nil {
		return err
	}
	for name, content := range s.files {
		file := filepath.Join(p.dir(s), name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
			os.WriteFile(file, []byte(content), 0o600)); err != nil {
			return err
		}
	}
	return nil
}

// command returns the command line of a server.
func (p *serverSet) command(t *testing.T, s published, port string) []string {
	t.Helper()
	put := strings.NewReplacer("$DIR", p.dir(s), "$PORT", port)
	line := []string{"node", filepath.Join(mcptest.Package(t, s.pkg), s.bin)}
	for _, arg := range s.args {
		line = append(line, put.Replace(arg))
	}
	return line
}

// environment returns the complete environment of a server.
func (p *serverSet) environment(s published) map[string]string {
	env := map[string]string{"PATH": os.Getenv("PATH"), "HOME": p.dir(s)}
	for _, each := range s.env {
		name, value, _ := strings.Cut(each, "=")
		env[name] = strings.ReplaceAll(value, "$DIR", p.dir(s))
	}
	return env
}

// listen starts a server that has a URL. The server accepts only a port number, so another program
// may take the port first. In that case the server exits, and listen tries the next number.
func (p *serverSet) listen(t *testing.T, s published) (url string) {
	t.Helper()
	var said strings.Builder
	for deadline := time.Now().Add(listenTime); time.Now().Before(deadline); {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := free.Addr().String()
		_, port, _ := net.SplitHostPort(addr)
		free.Close()
		line := p.command(t, s, port)
		server := exec.Command(line[0], line[1:]...)
		server.Dir, server.Env = p.dir(s), []string{"PORT=" + port}
		for name, value := range p.environment(s) {
			server.Env = append(server.Env, name+"="+value)
		}
		said.Reset()
		server.Stdout, server.Stderr = &said, &said
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { _ = server.Wait(); close(ended) }() // ends with the process, which is killed below
		if accepts(addr, ended, deadline) {
			t.Cleanup(func() { _ = server.Process.Kill(); <-ended })
			return fmt.Sprintf("http://%s/%s", addr, map[kind]string{https: "mcp", sse: "sse"}[s.kind])
		}
		_ = server.Process.Kill()
		<-ended
	}
	t.Fatalf("%s does not listen within %v:\n%s", s.name, listenTime, said.String())
	return ""
}

// accepts waits until the address accepts connections. It returns false when the server has exited
// or the deadline has passed.
func accepts(addr string, ended <-chan struct{}, deadline time.Time) bool {
	for ; time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		select {
		case <-ended:
			return false
		default:
		}
		if connection, err := net.Dial("tcp", addr); err == nil {
			connection.Close()
			return true
		}
	}
	return false
}

// direct returns the session of a client that connects to the server directly.
func (p *serverSet) direct(t *testing.T, s published) session {
	t.Helper()
	one := session{
		Name: s.name, Root: p.root(), Steps: append(listSteps(), withDir(p.dir(s), s.steps)...),
	}
	if s.kind != stdio {
		one.URL, one.SSE = p.urls[s.name], s.kind == sse
		return one
	}
	line := p.command(t, s, "")
	one.Command, one.Args, one.Env, one.Dir = line[0], line[1:], p.environment(s), p.dir(s)
	return one
}

// root is the only root of all clients. It is the parent of the folders of all servers.
func (p *serverSet) root() string { return "file://" + p.base }

// tenant returns the configuration of a tenant with all servers.
func (p *serverSet) tenant(t *testing.T, name string, all []published) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "  %s:\n    servers:\n", name)
	for _, s := range all {
		if s.kind != stdio {
			fmt.Fprintf(&b, "      %s: {url: %q}\n", s.name, p.urls[s.name])
			continue
		}
		line := p.command(t, s, "")
		fmt.Fprintf(&b, "      %s:\n        command: %q\n        cwd: %q\n        args: [", s.name,
			line[0], p.dir(s))
		for _, arg := range line[1:] {
			fmt.Fprintf(&b, "%q, ", arg)
		}
		b.WriteString("]\n        env: {")
		for name, value := range p.environment(s) {
			fmt.Fprintf(&b, "%s: %q, ", name, value)
		}
		b.WriteString("}\n")
	}
	return b.String()
}
