package stdio

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcpd/transport"
)

func TestCloseWritesWhatIsQueued(t *testing.T) {
	file := t.TempDir() + "/got"
	c := NewConn(start(t, newTestSpawner(t),
		Spec{Command: "sh", Args: []string{"-c", `cat >"$0"`, file}, Ladder: quick}), Options{})
	for id := range uint64(100) {
		if err := c.Send(t.Context(), request(id, `{}`)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(regexp.MustCompile(`(?m)^\{.*\}$`).FindAll(text, -1)); got != 100 {
		t.Errorf("%d lines were written, want 100", got)
	}
	if exit, _ := c.child.Exit(); exit.Code != 0 {
		t.Errorf("the server ended with %+v, want a clean end", exit)
	}
	if _, err := c.Recv(t.Context()); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("recv after close: got %v, want %v", err, transport.ErrClosed)
	}
	if err := c.Send(t.Context(), request(1, `{}`)); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("send after close: got %v, want %v", err, transport.ErrClosed)
	}
}

func TestCloseEndsAReceiver(t *testing.T) {
	c := connect(t, spec("stubborn"))
	next(t, c)
	got := make(chan error, 1)
	go func() {
		_, err := c.Recv(context.Background())
		got <- err
	}()
	if err := c.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := <-got; !errors.Is(err, transport.ErrClosed) {
		t.Errorf("got %v, want %v", err, transport.ErrClosed)
	}
}

func TestCloseOfAFloodingServerIsBounded(t *testing.T) {
	c := connect(t, spec("flood"))
	for range 1000 {
		if got := next(t, c).Message.Method; got != "notifications/message" {
			t.Fatalf("got %q", got)
		}
	}
	began := time.Now()
	if err := c.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > flushTime+quick.EOF+quick.Term+2*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestPanicInTheStderrCallbackEndsTheChild(t *testing.T) {
	sp := Spec{Command: "sh", Args: []string{"-c", "echo oops >&2; read stay"}, Ladder: quick}
	sp.Stderr = func(line []byte, _ bool) { panic("cannot take " + string(line)) }
	_, exit := ended(t, connect(t, sp))
	if exit.Signal != "SIGKILL" || !strings.Contains(exit.Error(), "cannot take oops") {
		t.Errorf("got %v", exit)
	}
}
