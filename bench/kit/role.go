package kit

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json"
)

// Role is a process of its own that is measured, or that a measurement needs. It is the same
// program as the bench, started with the arguments `bench role NAME ARGUMENT`. The program mcpd has
// a hidden command for it, and tests call RunIfRole first.
type Role struct {
	Name string
	// Serve starts a server that lives as long as the process, and returns its URL. Afterwards the
	// process answers questions about its usage on standard input, and ends with that input, so that
	// it does not outlive its parent.
	Serve func(ctx context.Context, argument string) (url string, err error)
	// Stdio is the whole life of a process that uses standard input and output for another purpose, as
	// a program does that a host starts. A role has either Serve or Stdio.
	Stdio func(ctx context.Context, argument string, in io.Reader, out io.Writer) error
}

// words are the arguments before a role's name.
var words = [2]string{"bench", "role"}

// RunIfRole plays a role and ends the process if its arguments ask for one; otherwise it returns.
// Tests of scenarios call it in TestMain.
func RunIfRole(roles []Role) {
	if len(os.Args) < 4 || [2]string(os.Args[1:3]) != words {
		return
	}
	argument := ""
	if len(os.Args) > 4 {
		argument = os.Args[4]
	}
	if err := Play(context.Background(), roles, os.Args[3], argument, os.Stdin,
		os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Play plays a role until in ends.
func Play(ctx context.Context, roles []Role, name, argument string, in io.Reader,
	out io.Writer) error {
	for _, role := range roles {
		switch {
		case role.Name != name:
			continue
		case role.Stdio != nil:
			return role.Stdio(ctx, argument, in, out)
		}
		url, err := role.Serve(ctx, argument)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := say(out, Usage{URL: url}); err != nil {
			return err
		}
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			if err := say(out, measure(lines.Text() == collect)); err != nil {
				return err
			}
		}
		return lines.Err()
	}
	return fmt.Errorf("there is no role %q", name)
}

func say(out io.Writer, u Usage) error {
	text, err := json.Marshal(u)
	if err != nil {
		return err
	}
	_, err = out.Write(append(text, '\n'))
	return err
}
