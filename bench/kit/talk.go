package kit

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// maxAnswer bounds an answer of a Talk, in bytes. The histogram of a round takes some 100 KiB.
const maxAnswer = 16 << 20

// Answer answers a line of a Talk.
type Answer func(line string) (any, error)

// WithArgument is like Answers, for an Answer that depends on the role's argument.
func WithArgument(of func(argument string) Answer) func(context.Context, string, io.Reader,
	io.Writer) error {
	return func(ctx context.Context, argument string, in io.Reader, out io.Writer) error {
		return Answers(of(argument))(ctx, argument, in, out)
	}
}

// Answers is the life of a role, or of another program, with which a scenario talks. It answers
// each line with one line, either "ok" and JSON or "error" and a text, until its input ends.
func Answers(answer Answer) func(context.Context, string, io.Reader, io.Writer) error {
	return func(_ context.Context, _ string, in io.Reader, out io.Writer) error {
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			var text []byte
			v, err := answer(lines.Text())
			if err == nil {
				text, err = json.Marshal(v)
			}
			word := "ok"
			if err != nil {
				word, text = "error", []byte(strings.ReplaceAll(err.Error(), "\n", "; "))
			}
			if _, err := fmt.Fprintf(out, "%s %s\n", word, text); err != nil {
				return err
			}
		}
		return lines.Err()
	}
}

// Talk is a process that answers lines. It is used by one goroutine.
type Talk struct {
	command *exec.Cmd
	in      io.WriteCloser
	lines   *bufio.Scanner
}

// StartTalk starts the process of a role whose life is Answers.
func StartTalk(ctx context.Context, role, argument string) (*Talk, error) {
	program, args, err := RoleCommand(role, argument)
	if err != nil {
		return nil, err
	}
	return TalkTo(exec.CommandContext(ctx, program, args...))
}

// TalkTo starts a program that answers lines as such a role does. The caller must stop it.
func TalkTo(command *exec.Cmd) (*Talk, error) {
	t := &Talk{command: command}
	command.Stderr = os.Stderr
	var err error
	if t.in, err = command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	t.lines = bufio.NewScanner(out)
	t.lines.Buffer(nil, maxAnswer)
	return t, command.Start()
}

// Ask sends a line and decodes the answer.
func (t *Talk) Ask(line string, into any) error {
	if _, err := fmt.Fprintln(t.in, line); err != nil {
		return fmt.Errorf("%s: %w", line, err)
	}
	if !t.lines.Scan() {
		return fmt.Errorf("%s: the process has ended: %w", line, orEOF(t.lines.Err()))
	}
	word, text, _ := strings.Cut(t.lines.Text(), " ")
	if word != "ok" {
		return fmt.Errorf("%s: %s %s", line, word, text)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("%s: answer %.100q: %w", line, text, err)
	}
	return nil
}

// Stop ends the process and waits for it.
func (t *Talk) Stop() error {
	_ = t.in.Close() // the process may be gone
	force := time.AfterFunc(Patience, func() { _ = t.command.Process.Kill() })
	defer force.Stop()
	return t.command.Wait()
}
