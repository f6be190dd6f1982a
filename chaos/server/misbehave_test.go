package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asServer is set in child processes of this test that are servers. Its value is their state
// folder.
const asServer = "CHAOS_SERVER_STATE"

// serveHere runs a server in such a child process.
func serveHere(state string) {
	signalled, stop := context.WithCancel(context.Background())
	defer stop()
	if err := Serve(signalled, Options{In: os.Stdin, Out: os.Stdout, State: state}); err != nil {
		os.Exit(1)
	}
}

// process is a server in a process of its own.
type process struct {
	*client
	cmd    *exec.Cmd
	output *os.File
}

func start(t *testing.T, state string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asServer+"="+state)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &process{reading(t, in, out), cmd, out.(*os.File)}
}

// ends waits for the end of the process, and fails the test unless it exits with the code.
func (p *process) ends(code int) {
	p.t.Helper()
	_ = p.cmd.Wait()
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Errorf("%v, want exit code %d", p.cmd.ProcessState, code)
	}
}

// misbehaves makes a server misbehave for a minute.
func (c *client) misbehaves(fault, more string) {
	c.t.Helper()
	c.call(`"m"`, "misbehave", fmt.Sprintf(`{"fault":%q,"for":"1m"%s}`, fault, more))
	m, _ := find(fault)
	c.hears(m.Description)
}

func (c *client) echoes(id, text string) {
	c.t.Helper()
	c.call(id, "echo", fmt.Sprintf(`{"message":%q}`, text))
}

func TestMisbehaviours(t *testing.T) {
	if !slices.IsSortedFunc(Misbehaviours, func(a, b Misbehaviour) int {
		return strings.Compare(a.Name, b.Name)
	}) {
		t.Error("they are not in the order of their names")
	}
	for _, m := range Misbehaviours {
		if m.Description == "" || strings.HasSuffix(m.Description, ".") ||
			(m.methods == nil) != (m.sendReply == nil) ||
			m.begin == nil && m.sendReply == nil {
			t.Errorf("%s: what it is, or how it is done", m.Name)
		}
	}
}

// Replies are wrong while the fault is on, and no longer.
func TestRepliesAreWrongWhileTheFaultIsOn(t *testing.T) {
	for _, r := range []struct {
		fault, more string
		want        []string // substrings of the lines that answer one call
	}{
		{"silent", `,"times":1`, nil},
		{"late", `,"delay":"5ms"`, []string{`"id":1,"result"`}},
		{"twice", "", []string{`"id":1,"result"`, `"id":1,"result"`}},
		{"shuffled", `,"delay":"5ms"`, []string{`"id":1,"result"`}},
		{"string_id", "", []string{`"id":"1","result"`}},
		{"malformed", "", []string{`{"jsonrpc":"2.0","id":1,"result"`}},
		{"deep", `,"size":10000`, []string{strings.Repeat("[", 10000) + strings.Repeat("]", 10000)}},
		{"both", "", []string{`"isError":false},"error":{"code"`}},
		{"neither", "", []string{`{"jsonrpc":"2.0","id":1}`}},
		{"odd_id", "", []string{`"id":1.0,"result"`}},
		{"odd_text", "", []string{"\"text\":\"\xff\xfewrong"}},
		{"wide", `,"size":3`, []string{`"structuredContent":{"0":0,"1":0,"2":0}`}},
		{"garbage", "", []string{
			"INFO", "", "red", "2.0", "\x00", "[1,2", "\xff", `"id":1,"result"`, "INFO", "", "red", "2.0",
			"\x00", "[1,2", "\xff",
		}},
		{"slow", `,"delay":"10us"`, []string{`"id":1,"result"`}},
		{"progress", `,"size":2`, []string{
			`"progress":0`, `"progress":1`, `"id":1,"result"`, `"progress":0`,
		}},
	} {
		t.Run(r.fault, func(t *testing.T) {
			c := open(t, "")
			c.misbehaves(r.fault, r.more)
			c.echoes("1", "wrong")
			for _, want := range r.want {
				c.hears(want)
			}
			c.call("2", "misbehave", `{"fault":"none"}`)
			c.hears(`"id":2`)
			c.echoes("3", "right")
			if got, want := c.next(), `{"jsonrpc":"2.0","id":3,"result":`; !strings.HasPrefix(got, want) ||
				!strings.Contains(got, "right") {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// A fault strikes as often as it was told, and ends after its time.
func TestFaultsAreBounded(t *testing.T) {
	c := open(t, "")
	c.misbehaves("twice", `,"times":1`)
	c.echoes("1", "a")
	c.hears(`"id":1`)
	c.hears(`"id":1`)
	c.echoes("2", "b")
	c.hears(`"id":2`)
	c.echoes("3", "c")
	c.hears(`"id":3`)
	c.call("3", "misbehave", `{"fault":"silent","for":"1ms"}`)
	c.hears(silent.Description)
	time.Sleep(2 * time.Millisecond)
	c.echoes("4", "again")
	c.hears("again")
	for _, bad := range []string{`{"fault":"other","for":"1s"}`, `{"fault":"late","for":"2h"}`,
		`{"fault":"late"}`, `{"fault":"giant","for":"1s","size":-1}`, `{"fault":"crash","for":"1s"}`,
		`{"fault":"http_cut","for":"1s"}`} {
		c.call("5", "misbehave", bad)
		c.hears(`"isError":true`)
	}
}

func TestListsWithoutEnd(t *testing.T) {
	c := open(t, "")
	c.misbehaves("endless", "")
	c.hears("notifications/tools/list_changed")
	c.send("1", "tools/list", "{}")
	c.hears(`"nextCursor":"again"`)
}

// A changed list of tools is announced, and so is its restoration.
func TestListsAreOthersAndAnnounced(t *testing.T) {
	for fault, want := range map[string]string{"huge": `"name":"more99"`,
		"invalid": `"a text",null,`} {
		c := open(t, "")
		c.misbehaves(fault, `,"size":100`)
		c.hears("notifications/tools/list_changed")
		c.send("1", "tools/list", "{}")
		c.hears(want)
		c.call("2", "misbehave", `{"fault":"none"}`)
		c.hears(`"id":2`)
		c.hears("notifications/tools/list_changed")
		c.send("3", "tools/list", "{}")
		if got := c.next(); strings.Contains(got, want) {
			t.Errorf("%s: %.200s", fault, got)
		}
	}
}

// A server that writes unasked stops when it is told to behave.
func TestFloodsEnd(t *testing.T) {
	for _, r := range []struct{ fault, more, hears string }{
		{"flood", "", "notifications/message"},
		{"asking", `,"delay":"1ms"`, "sampling/createMessage"},
		{"storm", `,"delay":"1ms"`, "notifications/tools/list_changed"},
		{"giant", `,"size":1000000`, strings.Repeat("x", 1000000)},
	} {
		t.Run(r.fault, func(t *testing.T) {
			c := open(t, "")
			c.misbehaves(r.fault, r.more)
			c.hears(r.hears)
			go c.call("2", "misbehave", `{"fault":"none"}`)
			for !strings.Contains(c.next(), `"id":2`) {
			}
		})
	}
}

// A crash fault strikes as often as it was told, across processes. After that the server works
// again.
func TestCrashLoopOutlivesTheProcess(t *testing.T) {
	state := t.TempDir()
	p := start(t, state)
	p.misbehaves("crash", `,"times":2,"code":7`)
	p.ends(7)
	for range 2 {
		start(t, state).ends(7)
	}
	p = start(t, state)
	p.echoes("1", "back")
	p.hears("back")

	p.misbehaves("mute", `,"times":1`)
	p.ends(0)
	p = start(t, state)
	p.send("1", "initialize", "{}")
	p.echoes("2", "not initialize")
	p.hears("not initialize")
	p.call("3", "misbehave", `{"fault":"none"}`)
	p.hears("behaves")
	p.send("4", "initialize", "{}")
	p.hears(`"id":4`)
}

func TestProcessesThatEndWrongly(t *testing.T) {
	p := start(t, "")
	p.misbehaves("exit", `,"code":3`)
	p.ends(3)

	p = start(t, "")
	p.misbehaves("closed", "")
	if rest, err := io.ReadAll(p.out); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	if err := p.cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("it does not live on: %v", err)
	}

	p = start(t, "")
	p.call("1", "misbehave", `{"fault":"stubborn","for":"200ms"}`)
	p.hears(stubborn.Description)
	began := time.Now()
	_ = p.in.Close()
	if p.ends(0); time.Since(began) < 100*time.Millisecond {
		t.Error("it ends with its input")
	}
}

// A grandchild that is left behind keeps standard output open.
func TestGrandchildIsLeftBehind(t *testing.T) {
	p := start(t, "")
	p.call("1", "misbehave", `{"fault":"grandchild","for":"5s"}`)
	p.hears(grandchild.Description)
	if _, err := p.cmd.Process.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := p.output.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.out.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v: its output has ended with it", err)
	}
}

// From its next process on, a server that became another one has no handshake.
func TestServerIsAnotherAfterItsRestart(t *testing.T) {
	state := t.TempDir()
	p := start(t, state)
	p.misbehaves("another", "")
	p.ends(0)
	p = start(t, state)
	p.send("1", "initialize", "{}")
	p.hears(`"code":-32022`)
	p.send("2", "server/discover", "{}")
	p.hears(`"supportedVersions":["2026-07-28"]`)
	p.send("3", "tools/list", "{}")
	p.hears(`"name":"more"`)
}
