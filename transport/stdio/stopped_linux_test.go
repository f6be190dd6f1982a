package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// watched calls CheckStopped once per pause, as a waiting caller does, until the connection ends or
// the limit is over.
func watched(t *testing.T, c *Conn, pause, limit time.Duration) (*transport.ExitError,
	time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	looks := make(chan struct{})
	go func() { // ends with ctx; awaited below
		defer close(looks)
		for ctx.Err() == nil {
			time.Sleep(pause)
			c.CheckStopped()
		}
	}()
	began := time.Now()
	for {
		_, err := c.Recv(ctx)
		if err == nil {
			continue
		}
		took := time.Since(began)
		cancel()
		<-looks
		exit, _ := errors.AsType[*transport.ExitError](err)
		return exit, took
	}
}

func halt(t *testing.T, c *Conn) {
	t.Helper()
	if err := c.child.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// F18: a server that a signal has stopped ends like one that died. The messages sent to it count as
// read.
func TestStoppedServerIsDead(t *testing.T) {
	c := connect(t, spec("echo"))
	c.Negotiated(protocol.V20251125)
	halt(t, c)
	if err := c.Send(t.Context(), request(1, `{}`)); err != nil {
		t.Fatal(err)
	}
	exit, took := watched(t, c, StopCheckInterval, patience)
	if exit == nil || exit.Cause != CauseStopped || exit.Code != -1 || exit.Signal != "" {
		t.Fatalf("got %v, want cause %q", exit, CauseStopped)
	}
	if took < QuietTime+StopCheckInterval {
		t.Errorf("given up after %s", took)
	}
	if text := exit.Error(); !strings.Contains(text, "stopped by a signal") {
		t.Errorf("got %q", text)
	}
}

// A server that had nothing to answer for long is given up only after a request has waited for
// Quiet.
func TestStoppedServerIsDeadOnceItWasWaitedFor(t *testing.T) {
	c := connect(t, spec("echo"))
	c.Negotiated(protocol.V20251125)
	// it gets no response
	if err := c.Send(t.Context(), jsonrpc.Notification("notifications/initialized", nil)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(QuietTime + StopCheckInterval)
	halt(t, c)
	sent := time.Now()
	if err := c.Send(t.Context(), request(1, `{}`)); err != nil {
		t.Fatal(err)
	}
	c.CheckStopped()
	exit, _ := watched(t, c, StopCheckInterval, patience)
	if took := time.Since(sent); exit == nil || exit.Cause != CauseStopped ||
		took < QuietTime+StopCheckInterval {
		t.Errorf("got %v, %v after something was asked", exit, took)
	}
}

// A server that does not answer is left alone while it waits or works. So is a server that is
// stopped at a look and continued before the next.
func TestServerThatIsNotStoppedIsLeftAlone(t *testing.T) {
	for name, s := range map[string]Spec{
		"sleeps": spec("deaf"),
		"works":  {Command: "sh", Args: []string{"-c", "while :; do :; done"}, Ladder: quick},
		// The launcher is stopped, and the process that it has started serves.
		"launched": {Command: "sh", Args: []string{"-c", `sleep 600 & kill -STOP $$; wait`},
			Ladder: quick},
		// The same, in a session of its own.
		"launched apart": {Command: "sh",
			Args:   []string{"-c", `exec 3<&0; setsid cat <&3 >&2 & exec 3<&-; kill -STOP $$; wait`},
			Ladder: quick},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t, s)
			if exit, _ := watched(t, c, StopCheckInterval, 4*QuietTime); exit != nil {
				t.Errorf("ended: %v", exit)
			}
		})
	}
	t.Run("goes on", func(t *testing.T) {
		t.Parallel()
		c := connect(t, spec("echo"))
		for range 3 {
			halt(t, c)
			time.Sleep(QuietTime + QuietTime/5)
			c.CheckStopped()
			if err := c.child.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			if err := c.Send(t.Context(), request(1, `{}`)); err != nil {
				t.Fatal(err)
			}
			if in := next(t, c); in.Message.ID != jsonrpc.IntID(1) {
				t.Fatalf("got %+v", in)
			}
		}
	})
}

// A server may be stopped and continued over and over, to limit its processor time. It is left
// alone, although every look finds it stopped, and also when it waits for something other than the
// processor.
func TestThrottledServerIsLeftAlone(t *testing.T) {
	for name, s := range map[string]Spec{
		"works":  {Command: "sh", Args: []string{"-c", "while :; do :; done"}, Ladder: quick},
		"sleeps": {Command: "sleep", Args: []string{"600"}, Ladder: quick},
		// The launcher stays stopped, and only the worker is continued in between.
		"launched": {Command: "sh",
			Args: []string{"-c", `sleep 600 & echo "{\"jsonrpc\":\"2.0\",\"method\":\"left\",\"params\":{\"pid\":$!}}"; kill -STOP $$; wait`}, Ladder: quick},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t, s)
			pid := c.child.Pid()
			if name == "launched" {
				pid = leftBehind(t, c)
				eventually(t, "the launcher stops", func() bool { return stateIs(c.child.Pid(), "T") })
			}
			time.Sleep(QuietTime + QuietTime/5)
			for range 5 {
				if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
				eventually(t, "it is stopped", func() bool { return stateIs(pid, "T") })
				c.CheckStopped()
				if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
					t.Fatal(err)
				}
			}
			if c.stopped.confirmed.Load() {
				t.Error("counts as stopped")
			}
		})
	}
}

func stateIs(pid int, want string) bool {
	state, _, _ := statusOf(pid)
	return state == want
}

// leftBehind reads the pid of a process that the server has started. The end of the test kills the
// process.
func leftBehind(t *testing.T, c *Conn) int {
	t.Helper()
	var left struct{ PID int }
	if err := json.Unmarshal(next(t, c).Message.Params, &left); err != nil || left.PID <= 1 {
		t.Fatalf("no pid: %v", err)
	}
	// an error means that it has ended already
	t.Cleanup(func() { _ = syscall.Kill(left.PID, syscall.SIGKILL) })
	return left.PID
}

// A server counts as stopped when all processes that it started are stopped, in whatever group they
// are.
func TestServerIsStoppedWithAllThatItStarted(t *testing.T) {
	c := connect(t, Spec{Command: "sh", Ladder: quick, Args: []string{"-c",
		`setsid sh -c 'echo "{\"jsonrpc\":\"2.0\",\"method\":\"left\",\"params\":{\"pid\":$$}}"; kill -STOP $$' & kill -STOP $$; wait`}})
	leftBehind(t, c)
	if exit, _ := watched(t, c, StopCheckInterval, patience); exit == nil ||
		exit.Cause != CauseStopped {
		t.Errorf("got %v, want cause %q", exit, CauseStopped)
	}
}

// Messages sent after the stop is detected are left for the next server, also while messages
// already read are still handed out.
func TestStoppedServerIsSentNoMore(t *testing.T) {
	c := connect(t, spec("echo"))
	c.Negotiated(protocol.V20251125)
	halt(t, c)
	time.Sleep(QuietTime + QuietTime/5)
	for !c.stopped.confirmed.Load() {
		c.CheckStopped()
	}
	if err := c.Send(t.Context(), request(1, `{}`)); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if all, exit := ended(t, c); len(all) > 0 || exit.Cause != CauseStopped {
		t.Errorf("got %+v, then %v", all, exit)
	}
}

// A process that has ended is not checked for being stopped.
func TestProcessThatIsGoneIsNotStopped(t *testing.T) {
	c := start(t, newTestSpawner(t), spec("quit"))
	<-c.Exited()
	if _, stopped := c.stopped(); stopped {
		t.Error("a program that has exited counts as stopped")
	}
	if state, parent, group := statusOf(os.Getpid()); state == "" || parent != os.Getppid() ||
		group != syscall.Getpgrp() {
		t.Errorf("this process: state %q, parent %d, group %d", state, parent, group)
	}
	if turns := contextSwitchesOf(os.Getpid()); turns == 0 {
		t.Error("this process never had the processor")
	}
}
