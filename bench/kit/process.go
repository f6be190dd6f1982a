package kit

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// Patience bounds every wait, so that a bug ends a run instead of hanging it.
const Patience = 30 * time.Second

// Process is a process that plays a role.
type Process struct {
	URL string
	PID int

	command *exec.Cmd
	in      io.WriteCloser

	mu    sync.Mutex // guards the conversation: a question and its answer
	lines *bufio.Scanner
}

// RoleCommand returns the program and the arguments that play a role, for a host that starts the
// process itself.
func RoleCommand(name, argument string) (program string, args []string, err error) {
	program, err = os.Executable()
	return program, []string{words[0], words[1], name, argument}, err
}

// Start starts the process of a role that has Serve, and returns when its server is ready. The
// caller must stop the process.
func Start(ctx context.Context, name, argument string) (*Process, error) {
	program, args, err := RoleCommand(name, argument)
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, program, args...)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p := &Process{PID: command.Process.Pid, command: command, in: in, lines: bufio.NewScanner(out)}
	u, err := p.read()
	if err != nil {
		_ = command.Process.Kill() // it may have ended already
		_ = p.Stop()               // the error below matters more
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p.URL = u.URL
	return p, nil
}

// Stop ends the process and waits for it.
func (p *Process) Stop() error {
	_ = p.in.Close() // the process may be gone
	force := time.AfterFunc(Patience, func() { _ = p.command.Process.Kill() })
	defer force.Stop()
	return p.command.Wait()
}

// Kill ends the process at once, as a crash would, and waits until it has ended.
func (p *Process) Kill() {
	_ = p.command.Process.Kill() // it may have ended already
	_ = p.Stop()                 // its result only says how the process ended
}

// Free returns a loopback address at which nothing listens.
func Free() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// Usage returns what the process has used so far. With collected set, the process collects garbage
// first.
func (p *Process) Usage(collected bool) (Usage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := "now"
	if collected {
		line = collect
	}
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		return Usage{}, fmt.Errorf("process %d: %w", p.PID, err)
	}
	return p.read()
}

func (p *Process) read() (u Usage, err error) {
	if !p.lines.Scan() {
		return u, fmt.Errorf("process %d has ended: %w", p.PID, orEOF(p.lines.Err()))
	}
	if err := json.Unmarshal(p.lines.Bytes(), &u); err != nil {
		return u, fmt.Errorf("process %d said %q: %w", p.PID, p.lines.Text(), err)
	}
	return u, nil
}

func orEOF(err error) error {
	if err == nil {
		return io.EOF
	}
	return err
}
