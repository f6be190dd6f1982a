package resilience

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// bareTurns are the messages that a host sends to a server from its start to its first call, in
// turns. The messages of a turn are written once those of the turn before are answered.
var bareTurns = [][]string{
	{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bare","version":"1"}}}`,
	},
	{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":3,"method":"resources/list"}`,
		`{"jsonrpc":"2.0","id":4,"method":"resources/templates/list"}`,
	},
}

// bareStart returns how long a program takes without a host, from its start to its first answer
// to a call.
func bareStart(command *exec.Cmd, call string) (took time.Duration, err error) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := command.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := command.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = in.Close()
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // also the processes that it has started
		_ = command.Wait()                                      // its error only reports the signal
	}()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for _, turn := range append(bareTurns, []string{call}) {
		if _, err := fmt.Fprintln(in, strings.Join(turn, "\n")); err != nil {
			return 0, err
		}
		for waiting := strings.Count(strings.Join(turn, ""), `"id":`); waiting > 0; {
			if !lines.Scan() {
				return 0, fmt.Errorf("the bare server ended: %w", cmp.Or(lines.Err(), io.EOF))
			}
			switch text := lines.Text(); {
			case strings.Contains(text, `"result":`):
				waiting--
			case strings.Contains(text, `"error":`):
				return 0, fmt.Errorf("the bare server said %s to %s", text, turn)
			}
		}
	}
	return time.Since(start), nil
}

// bareSmall is bareStart for the test's own server.
func bareSmall(effects string) (time.Duration, error) {
	path, err := os.Executable()
	if err != nil {
		return 0, err
	}
	command := exec.Command(path)
	command.Env = append(os.Environ(), environment(effects)...)
	return bareStart(command,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"note","arguments":{"text":"bare"}}}`)
}
