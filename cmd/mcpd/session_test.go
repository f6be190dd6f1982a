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

// step is a command of a shell session and its output.
type step struct {
	command string
	output  []string
}

// steps parses a session. Commands follow "$ ", continuation lines follow "> ", and their output
// is below them.
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

// Shell sessions in the documents run as shown. Only ports, times and process ids may differ. A
// process id must be the same wherever the session shows the same id.
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
				if found = match(t, ports.Replace(strings.Join(step.output, "\n")),
					strings.Join(got, "\n")); t.Failed() {
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

// pasted is the session of the README: what is pasted, and what it prints.
var pasted = regexp.MustCompile("(?s)```sh\n(DIR=.*?)```\n\nIt prints:\n\n```text\n(.*?)\n```")

// The session in the README prints what it shows, and leaves no host and no files behind.
func TestReadmeSessionCanBePasted(t *testing.T) {
	m := pasted.FindStringSubmatch(page(t, "README.md"))
	if m == nil {
		t.Fatal("the README has no session")
	}
	ports := strings.NewReplacer("7420", unused(t), "7421", unused(t))
	s := newShell(t, filepath.Dir(mcptest.Server(t)), ports)
	folder := regexp.MustCompile(`/\S*/tmp\.\w+/`) // of mktemp
	got := folder.ReplaceAllString(strings.Join(s.run(ports.Replace(m[1])), "\n"), "")
	if match(t, folder.ReplaceAllString(ports.Replace(m[2]), ""), got); t.Failed() {
		return
	}
	for _, left := range s.run(`ls -d $DIR 2>&-; kill -0 $HOST 2>&- && echo the host`) {
		t.Errorf("it leaves %s", left)
	}
}

// vary matches the parts of a line that differ between any two runs.
var vary = regexp.MustCompile(`pid [0-9]+|\b(?:[0-9]+h)?(?:[0-9]+m)?[0-9]+s\b`)

// match compares output with the document, and returns pairs of process ids: the document's and
// the real one.
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

// renamed returns a replacer that translates the document's process ids in commands.
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
		"PATH=" + server + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + s.dir,
		"XDG_RUNTIME_DIR=" + s.dir,
		// This is not the state directory of a host on this machine.
		"STATE_DIRECTORY=" + filepath.Join(s.dir, "state"),
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

// end stops the processes that the session has left running, as closing a terminal would, and
// waits for all of them.
func (s *shell) end() {
	_ = s.in.Close()
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGTERM)
	_ = s.cmd.Wait() // The exit status of the shell does not matter.
	for deadline := time.Now().Add(patience); syscall.Kill(-s.cmd.Process.Pid,
		0) == nil; time.Sleep(10 * time.Millisecond) {
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

// run runs one command and returns the lines that it printed.
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

// serving waits until the host in the background is ready. A person who types slowly has the same
// effect.
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
