package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// arenaServer is the arena's server behind a URL. Its process ends when its standard input closes,
// however this process ends.
type arenaServer struct {
	// mu guards the fields below, because reloads ask for the URL too.
	mu  sync.Mutex
	cmd *exec.Cmd
	in  io.Closer
	url string
}

// arenaServerTimeout bounds the start and the end of the process.
const arenaServerTimeout = 10 * time.Second

// open starts the process unless it is running, and returns its URL.
func (s *arenaServer) open(program, state string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.url != "" {
		return s.url, nil
	}
	cmd := exec.Command(program, "chaos", "server", "--http", "127.0.0.1:0", "--with-input",
		"--state", state)
	// Signals from a terminal go to this process only.
	cmd.Stderr, cmd.SysProcAttr = os.Stderr, &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	late := time.AfterFunc(arenaServerTimeout, func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if !late.Stop() || err != nil {
		_, _ = in.Close(), cmd.Process.Kill()
		_ = cmd.Wait()
		return "", fmt.Errorf("the arena's server behind a URL has not reported its address: %w", err)
	}
	s.cmd, s.in, s.url = cmd, in, strings.TrimSpace(line)
	return s.url, nil
}

// close ends the process and waits for its end.
func (s *arenaServer) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	_ = s.in.Close()
	late := time.AfterFunc(arenaServerTimeout, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	// The exit status does not matter.
	_ = s.cmd.Wait()
}
