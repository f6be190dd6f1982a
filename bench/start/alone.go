package start

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// turns are a host's messages to a program from its start to its first call. Each is written when
// the one before has been answered.
var turns = []string{
	`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`,
	`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
	`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"message":"alone"}}}`,
}

// alone returns the time from the start of a program to its first answer to a call, without a host,
// in ms.
func alone(ctx context.Context, program string, args []string) (took float64, err error) {
	command := exec.CommandContext(ctx, program, args...)
	in, err := command.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := command.Start(); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, in.Close(), command.Wait()) }()
	lines := bufio.NewScanner(out)
	for _, turn := range turns {
		if _, err := fmt.Fprintln(in, turn); err != nil {
			return 0, err
		}
		if !lines.Scan() {
			return 0, fmt.Errorf("the program ended: %w", cmp.Or(lines.Err(), io.EOF))
		}
		if !strings.Contains(lines.Text(), `"result":`) {
			return 0, fmt.Errorf("the program said %s", lines.Text())
		}
	}
	return float64(time.Since(begin)) / float64(time.Millisecond), nil
}
