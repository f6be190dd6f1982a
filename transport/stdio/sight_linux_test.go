package stdio

import (
	"context"
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

// watched looks at a server once per pause until its connection ends or the time is over, as somebody does who waits for it.
func watched(t *testing.T, c *Conn, pause, limit time.Duration) (*transport.ExitError, time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	looks := make(chan struct{})
	go func() { // ends with ctx; awaited below
		defer close(looks)
		for ctx.Err() == nil {
			time.Sleep(pause)
			c.Look()
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

// F18: a server that a signal has stopped ends as one that died. What it was sent counts as read.
func TestStoppedServerIsDead(t *testing.T) {
	c := connect(t, spec("echo"))
	c.Negotiated(protocol.V20251125)
	halt(t, c)
	if err := c.Send(t.Context(), request(1, `{}`)); err != nil {
		t.Fatal(err)
	}
	exit, took := watched(t, c, Quiet, patience)
	if exit == nil || exit.Cause != CauseStopped || exit.Code != -1 || exit.Signal != "" {
		t.Fatalf("got %v, want cause %q", exit, CauseStopped)
	}
	if took < Quiet {
		t.Errorf("given up after %s", took)
	}
	if text := exit.Error(); !strings.Contains(text, "stopped by a signal") {
		t.Errorf("got %q", text)
	}
}

// A server that does not answer is left alone while it waits or works, and one that is stopped while nobody looks, or goes on in between.
func TestServerThatIsNotStoppedIsLeftAlone(t *testing.T) {
	for name, s := range map[string]Spec{
		"sleeps": spec("deaf"),
		"works":  {Command: "sh", Args: []string{"-c", "while :; do :; done"}, Ladder: quick},
		// Its launcher is stopped, and what that has started serves.
		"launched": {Command: "sh", Args: []string{"-c", `sleep 600 & kill -STOP $$; wait`}, Ladder: quick},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t, s)
			if exit, _ := watched(t, c, Quiet/2, 4*Quiet); exit != nil {
				t.Errorf("ended: %v", exit)
			}
		})
	}
	t.Run("goes on", func(t *testing.T) {
		t.Parallel()
		c := connect(t, spec("echo"))
		for range 3 {
			halt(t, c)
			time.Sleep(Quiet + Quiet/5)
			c.Look()
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

// What is no process of ours is not looked at.
func TestProcessThatIsGoneIsNotStopped(t *testing.T) {
	c := start(t, newTestSpawner(t), spec("quit"))
	<-c.Exited()
	if c.h.stopped() {
		t.Error("a program that has exited counts as stopped")
	}
	if state, group := stateOf("self"); state == "" || group == "" {
		t.Errorf("this process, %d: state %q, group %q", os.Getpid(), state, group)
	}
}
