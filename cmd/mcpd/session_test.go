package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// step is a command of a shell session and what it printed.
type step struct {
	command string
	output  []string
}

// steps reads a session: commands stand behind "$ ", further lines of one behind "> ", their output below them.
func steps(text string) []step {
	var list []step
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			list = append(list, step{command: command})
		} else if more, ok := strings.CutPrefix(line, "> "); ok && len(list) > 0 {
			list[len(list)-1].command += "\n" + more
		} else if len(list) > 0 {
			last := &list[len(list)-1]
			last.output = append(last.output, line)
		}
	}
	return list
}

// Shell sessions in the documents go as they are shown. Only what must differ from one run to the next may: ports, times and process ids.
// The latter have to be the same one wherever the session shows the same.
func TestSessionsInDocuments(t *testing.T) {
	server := filepath.Dir(mcptest.Server(t))
	for _, b := range blocks(t, "console") {
		t.Run(b.page, func(t *testing.T) {
			ports := strings.NewReplacer("7420", unused(t), "7421", unused(t))
			s := newShell(t, server, ports)
			pids := strings.NewReplacer()
			for _, step := range steps(b.text) {
				got := s.run(ports.Replace(pids.Replace(step.command)))
				var found []string
				if found = match(t, ports.Replace(strings.Join(step.output, "\n")), strings.Join(got, "\n")); t.Failed() {
					t.Fatalf("$ %s\n%s", step.command, strings.Join(got, "\n"))
				}
				pids = renamed(pids, found)
				if strings.HasSuffix(step.command, "&") {
					s.serving()
				}
			}
		})
	}
}

// vary are the parts of a line that no two runs have in common.
var vary = regexp.MustCompile(`pid [0-9]+|\b(?:[0-9]+h)?(?:[0-9]+m)?[0-9]+s\b`)

// match compares output with what a document shows, and returns pairs of process ids: the document's and the real one.
func match(t *testing.T, want, got string) (pids []string) {
	t.Helper()
	var pattern strings.Builder
	var shown []string
	rest := want
	for _, at := range vary.FindAllStringIndex(want, -1) {
		pattern.WriteString(regexp.QuoteMeta(want[len(want)-len(rest) : at[0]]))
		if pid, ok := strings.CutPrefix(want[at[0]:at[1]], "pid "); ok {
			shown = append(shown, pid)
			pattern.WriteString("pid ([0-9]+)")
		} else {
			pattern.WriteString("[0-9hms]+")
		}
		rest = want[at[1]:]
	}
	pattern.WriteString(regexp.QuoteMeta(rest))
	m := regexp.MustCompile("^" + pattern.String() + "$").FindStringSubmatch(got)
	if m == nil {
		t.Errorf("the document shows\n%s\nbut there is\n%s", want, got)
		return nil
	}
	for i, pid := range shown {
		pids = append(pids, pid, m[i+1])
	}
	return pids
}

// renamed lets commands name processes as the document does.
func renamed(old *strings.Replacer, pids []string) *strings.Replacer {
	if len(pids) == 0 {
		return old
	}
	return strings.NewReplacer(pids...)
}

// shell is one sh in which a session runs, in a folder of its own.
type shell struct {
	t     *testing.T
	dir   string
	admin string
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
}

func newShell(t *testing.T, server string, ports *strings.Replacer) *shell {
	s := &shell{t: t, dir: t.TempDir(), admin: ports.Replace(defaultAdmin), cmd: exec.Command("sh")}
	s.cmd.Dir = s.dir
	s.cmd.Env = []string{
		"PATH=" + server + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + s.dir, "XDG_RUNTIME_DIR=" + s.dir,
		"STATE_DIRECTORY=" + filepath.Join(s.dir, "state"), // not that of a host on this machine
		"MCPD_URL=" + ports.Replace(defaultURL), "MCPD_ADMIN=" + s.admin, "NO_COLOR=1", quickExit,
	}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.out = bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.end)
	s.run("exec 2>&1")
	return s
}

// end stops what the session has left running, as hanging up would, and waits for all of it.
func (s *shell) end() {
	_ = s.in.Close()
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGTERM)
	_ = s.cmd.Wait() // the shell's own end does not matter
	for deadline := time.Now().Add(patience); syscall.Kill(-s.cmd.Process.Pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Errorf("processes of the session still run after %v", patience)
			_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
			return
		}
	}
	if s.t.Failed() {
		log, _ := os.ReadFile(filepath.Join(s.dir, "mcpd.log"))
		s.t.Logf("log of mcpd:\n%s", log)
	}
}

// run runs one command and returns the lines it printed.
func (s *shell) run(command string) (lines []string) {
	const end = "-- end of output --"
	if _, err := fmt.Fprintf(s.in, "%s\necho '%s'\n", command, end); err != nil {
		s.t.Fatal(err)
	}
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.t.Fatalf("$ %s: %v\n%s", command, err, strings.Join(lines, "\n"))
		}
		if line = strings.TrimSuffix(line, "\n"); line == end {
			return lines
		}
		lines = append(lines, line)
	}
}

// serving waits until the host in the background is ready, as a person does by typing slowly.
func (s *shell) serving() {
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.admin+"/readyz", nil)
		if err != nil {
			s.t.Fatal(err)
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-ctx.Done():
			s.t.Fatalf("no host is ready at %s within %v", s.admin, patience)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
