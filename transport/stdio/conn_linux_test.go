package stdio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

func TestMessagesGoBothWays(t *testing.T) {
	c := connect(t, spec("echo"))
	// Numbers and the order of members pass unchanged.
	const params = `{"n":12345678901234567890,"s":"\u00e9","a":1E400}`
	if err := c.Send(t.Context(), request(1, params)); err != nil {
		t.Fatal(err)
	}
	in := next(t, c)
	if string(in.Message.Result) != params || in.Message.ID != jsonrpc.IntID(1) ||
		!in.RequestID.IsZero() {
		t.Errorf("got %+v", in)
	}
	if info := c.Info(); info.Transport != "stdio" || info.PID != c.child.Pid() {
		t.Errorf("info: got %+v", info)
	}
}

func TestPrettyPrintedParamsStayOneLine(t *testing.T) {
	c := connect(t, spec("echo"))
	if err := c.Send(t.Context(), request(1, "{\n  \"a\": 1\r\n}")); err != nil {
		t.Fatal(err)
	}
	if got := string(next(t, c).Message.Result); got != `{  "a": 1}` {
		t.Errorf("got %q", got)
	}
}

func TestLargeMessagePasses(t *testing.T) {
	c := connect(t, spec("large"))
	if got := len(next(t, c).Message.Params); got != 5<<20+len(`{"p":""}`) {
		t.Errorf("got %d bytes", got)
	}
	large := `"` + strings.Repeat("x", 3<<20) + `"`
	for id := range uint64(2) {
		if err := c.Send(t.Context(), request(id, `{"p":`+large+`}`)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if got := len(next(t, c).Message.Result); got != len(large)+len(`{"p":}`) {
			t.Errorf("got %d bytes", got)
		}
	}
}

// small is a message limit that tests reach quickly.
const small = 100 << 10

// F17, F22, F23, F25 of the fault catalogue: each ending has a name, and the exit is reported if
// there was one.
func TestEndingIsClassified(t *testing.T) {
	for _, tt := range []struct {
		role, cause  string
		code         int
		signal       string
		ready        bool // the handshake was over
		stderr, text string
	}{
		{role: "quit", cause: CauseHandshake, code: 3, stderr: "no database\n", text: "exit code 3"},
		{role: "quit", ready: true, cause: CauseCode, code: 3, stderr: "no database\n"},
		{role: "killed", ready: true, cause: CauseSignal, code: -1, signal: "SIGKILL"},
		{role: "killed", cause: CauseHandshake, code: -1, signal: "SIGKILL"},
		{role: "long", cause: CauseOversized, code: -1, text: strconv.Itoa(endless * small)},
		{role: "babble", cause: CauseStray, code: -1, text: `"lalala`},
		{role: "mute", cause: CauseOutput, code: -1},
		{role: "leave", ready: true, cause: CauseCode, code: 0},
	} {
		t.Run(fmt.Sprint(tt.role, " ready=", tt.ready), func(t *testing.T) {
			t.Parallel()
			c := NewConn(start(t, newTestSpawner(t), spec(tt.role)), Options{MaxMessage: small})
			defer c.Close(context.Background())
			if tt.ready {
				c.Negotiated(protocol.V20251125)
			}
			_, exit := ended(t, c)
			if exit.Cause != tt.cause || exit.Code != tt.code || exit.Signal != tt.signal ||
				string(exit.Stderr) != tt.stderr {
				t.Errorf("got %+v, want %+v", exit, tt)
			}
			if !strings.Contains(exit.Error(), tt.text) {
				t.Errorf("got %q, want %q in it", exit, tt.text)
			}
			if _, err := c.Recv(t.Context()); !errors.Is(err, exit) {
				t.Errorf("second time: got %v, want %v", err, exit)
			}
			if err := c.Send(t.Context(), request(1, `{}`)); !errors.Is(err, transport.ErrClosed) {
				t.Errorf("send: got %v, want %v", err, transport.ErrClosed)
			}
		})
	}
}

// Thousands of stray lines before and among messages are skipped, such as those of a build or an
// installation. Each is reported.
func TestLinesOfABuildArePassedOver(t *testing.T) {
	var told atomic.Int64
	c := NewConn(start(t, newTestSpawner(t), spec("build")), Options{Stray: func(Stray) {
		told.Add(1)
	}})
	defer c.Close(context.Background())
	next(t, c)
	next(t, c)
	if n := told.Load(); n != 2*builds {
		t.Errorf("told of %d lines, want %d", n, 2*builds)
	}
}

// A response that its server died while writing does not count: the request is lost with the
// server, and the error says why.
func TestServerThatEndsAmidAnAnswerIsLost(t *testing.T) {
	c := connect(t, spec("break off"))
	c.Negotiated(protocol.V20251125)
	all, exit := ended(t, c)
	if len(all) > 0 {
		t.Errorf("got %v, want no outcome", all)
	}
	if exit.Cause != CauseCode || exit.Code != 3 || string(exit.Stderr) != "no more\n" {
		t.Errorf("got %+v", exit)
	}
}

func TestServerThatClosesItsInputIsDead(t *testing.T) {
	c := connect(t, spec("earless"))
	next(t, c)
	next(t, c) // it has closed its input now
	if err := c.Send(t.Context(), request(1, `{}`)); err != nil {
		t.Fatal(err)
	}
	lost, exit := ended(t, c)
	if exit.Cause != CauseInput {
		t.Errorf("got cause %q, want %q", exit.Cause, CauseInput)
	}
	if len(lost) != 1 || lost[0].RequestID != jsonrpc.IntID(1) || lost[0].Written {
		t.Errorf("got %+v, want request 1 as not written", lost)
	}
}

// The exit of a launcher ends the connection at once, although a process that it started keeps all
// pipes open.
func TestLeftoverProcessDoesNotDelayTheEnd(t *testing.T) {
	for _, arg := range []string{"", "stubborn"} {
		c := connect(t, spec("leave", "STDIO_TEST_ARG", arg))
		next(t, c)
		<-c.child.Exited()
		began := time.Now()
		ended(t, c)
		if took := time.Since(began); took > time.Second {
			t.Errorf("the end was noticed after %s", took)
		}
	}
}

func TestGarbageIsReportedAndPassedOver(t *testing.T) {
	var strays []Stray
	c := NewConn(start(t, newTestSpawner(t), spec("garbage")), Options{Stray: func(s Stray) {
		strays = append(strays, s)
	}})
	defer c.Close(context.Background())
	all, _ := ended(t, c)
	var got []string
	for _, in := range all {
		switch {
		case in.Err != nil:
			got = append(got, "failed "+in.RequestID.Raw()+fmt.Sprint(" ", in.Written))
		default:
			got = append(got, in.Message.Method)
		}
	}
	if want := []string{"one", "failed 7 true", "failed 9 true", "two",
		"three"}; !slices.Equal(got, want) {
		t.Errorf("messages: got %q, want %q", got, want)
	}
	var lines []string
	for i, s := range strays {
		run := i + 1
		if i >= 3 { // a response came in between, if a broken one
			run = i - 2
		}
		if s.Err == nil || s.Run != run {
			t.Errorf("stray %d: got %+v", i, s)
		}
		lines = append(lines, s.Line)
	}
	want := []string{
		"npm notice New version of npm available!", "\x1b[32mready\x1b[0m", "nul\x00nul",
		`{"level":"info"}`,
		`[{"jsonrpc":"2.0","method":"batched"}]`,
	}
	if !slices.Equal(lines, want) {
		t.Errorf("strays: got %q, want %q", lines, want)
	}
}

// A response that is too long or unreadable fails its own request at once, and no other.
func TestBrokenAnswerFailsItsRequestOnly(t *testing.T) {
	c := NewConn(start(t, newTestSpawner(t), spec("unreadable")), Options{
		MaxMessage: small, MaxDepth: 64,
	})
	defer c.Close(context.Background())
	all, _ := ended(t, c)
	var got []string
	for _, in := range all {
		if in.Err == nil {
			got = append(got, in.Message.Method)
			continue
		}
		got = append(got, in.RequestID.Raw()+" "+in.Err.Error())
		if !in.Written {
			t.Errorf("request %s: want it to count as written", in.RequestID.Raw())
		}
	}
	want := []string{
		"1 too_large: 200045 bytes, more than 102400 at byte 102400",
		"2 too_large: 200036 bytes, more than 102400 at byte 102400",
		`3 parse: 'a' where a member's name should be at byte 40`,
		`4 parse: 'a' where a member's name should be at byte 17`,
		`5 invalid_request: no "method", "result" or "error" at byte 0`,
		"6 limits: deeper than 64 at byte 100",
		"7 limits: deeper than 64 at byte 77",
		"end",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBatchesAreReadWhereTheRevisionHasThem(t *testing.T) {
	script := `read go; echo '[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2},{"jsonrpc":"2.0","method":"n"}]'`
	c := connect(t, Spec{Command: "sh", Args: []string{"-c", script}, Ladder: quick})
	c.Negotiated(protocol.V20250326)
	if err := c.Send(t.Context(), jsonrpc.Notification("go", nil)); err != nil {
		t.Fatal(err)
	}
	all, _ := ended(t, c)
	if len(all) != 3 || all[0].Message.ID != jsonrpc.IntID(1) || all[1].Message.Method != "n" ||
		all[2].RequestID != jsonrpc.IntID(2) {
		t.Errorf("got %+v", all)
	}
}

func TestBrokenRequestOfTheServerIsAnswered(t *testing.T) {
	c := connect(t, Spec{
		Command: "sh", Ladder: quick,
		Args: []string{
			"-c", `echo '{"jsonrpc":"2.0","id":"q","method":5}'; read -r answer; printf "%s\\n" "$answer"`,
		},
	})
	in := next(t, c)
	if in.Message.ID != jsonrpc.StringID("q") || in.Message.Error == nil ||
		in.Message.Error.Code != jsonrpc.CodeInvalidRequest {
		t.Errorf("the server got %+v", in.Message)
	}
}

// A server that does not read never blocks the sender. The messages that it did not get are named
// when it dies (F16, F21).
func TestServerThatDoesNotReadBlocksNobody(t *testing.T) {
	c := connect(t, spec("deaf"))
	next(t, c)
	params := `{"p":"` + strings.Repeat("x", 10<<10) + `"}`
	var id uint64
	for began := time.Now(); ; id++ {
		err := c.Send(t.Context(), request(id, params))
		if errors.Is(err, transport.ErrSlowConsumer) {
			break
		}
		if err != nil || time.Since(began) > patience {
			t.Fatalf("after %d messages: %v", id, err)
		}
	}
	c.child.Signal(9)
	lost, exit := ended(t, c)
	if exit.Signal != "SIGKILL" {
		t.Errorf("got %v", exit)
	}
	// The writer had taken one chunk and written a part of it. The rest is lost in order and without
	// gaps.
	if len(lost) == 0 || len(lost) == int(id) {
		t.Fatalf("%d of %d requests reported lost; a pipe holds some and not all", len(lost), id)
	}
	first := int(id) - len(lost)
	for i, in := range lost {
		if in.RequestID != jsonrpc.IntID(uint64(first+i)) || in.Err == nil || in.Written && i > 0 {
			t.Fatalf("lost %d: got %+v, want %d", i, in, first+i)
		}
	}
}

// All requests of a server are answered, however much it writes before it reads.
func TestServerThatAsksBeforeItReadsIsAnswered(t *testing.T) {
	c := connect(t, spec("eager"))
	for {
		in := next(t, c)
		if in.Message.Method == "done" {
			return
		}
		if err := c.Send(t.Context(), jsonrpc.Response(in.Message.ID, []byte("{}"))); err != nil {
			t.Fatalf("answer %s: %v", in.Message.ID.Raw(), err)
		}
	}
}

func TestRequestCutInHalfCountsAsWritten(t *testing.T) {
	c := connect(t, spec("bite"))
	params := `{"p":"` + strings.Repeat("x", 1<<20) + `"}`
	sent := 0
	for ; sent < 3; sent++ {
		err := c.Send(t.Context(), request(uint64(sent), params))
		if errors.Is(err, transport.ErrClosed) && sent > 0 {
			break // it died quickly
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	lost, _ := ended(t, c)
	if len(lost) != sent {
		t.Fatalf("got %d lost, want %d", len(lost), sent)
	}
	for i, in := range lost {
		if in.RequestID != jsonrpc.IntID(uint64(i)) || in.Written != (i == 0) {
			t.Errorf("lost %d: got %+v", i, in)
		}
	}
}

func TestReceiveCanBeGivenUpAndTakenUpAgain(t *testing.T) {
	c := connect(t, Spec{
		Command: "sh", Ladder: quick,
		Args: []string{"-c", `printf '{"jsonrpc":"2.0",'; read go; echo '"method":"whole"}'; read stay`},
	})
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		if _, err := c.Recv(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want %v", err, context.DeadlineExceeded)
		}
		cancel()
	}
	if err := c.Send(t.Context(), jsonrpc.Notification("go", nil)); err != nil {
		t.Fatal(err)
	}
	if got := next(t, c).Message.Method; got != "whole" {
		t.Errorf("got %q", got)
	}
}

// The runtime's poller waits for children, so no child takes a thread.
func TestWaitingForChildrenTakesNoThreads(t *testing.T) {
	s := newTestSpawner(t)
	threads := func() int {
		text, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(regexp.MustCompile(`Threads:\s+(\d+)`).FindStringSubmatch(string(text))[1])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := threads()
	for range 40 {
		start(t, s, Spec{Command: "cat", Ladder: quick})
	}
	if grown := threads() - before; grown > 20 {
		t.Errorf("40 children took %d threads", grown)
	}
}
