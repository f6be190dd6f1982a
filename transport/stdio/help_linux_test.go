package stdio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// patience is how long a test waits for an expected event. It is far longer than any takes.
const patience = 20 * time.Second

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// quick is a ladder for tests that take all its steps.
var quick = Ladder{EOF: 200 * time.Millisecond, Term: 200 * time.Millisecond, Kill: 5 * time.Second}

// spawners counts the spawners of the tests: each has a mark of its own, as daemons have.
var spawners atomic.Uint64

func newTestSpawner(t *testing.T) *Spawner {
	t.Helper()
	s := NewSpawner(SpawnerOptions{
		Instance: fmt.Sprintf("test.%d.%d", os.Getpid(), spawners.Add(1)), Starting: 64,
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("close spawner: %v", err)
		}
	})
	return s
}

func spec(name string, env ...string) Spec {
	// The race detector would sleep for a second at exit.
	s := Spec{
		Command: os.Args[0], Ladder: quick,
		Env: map[string]string{role: name, "GORACE": "atexit_sleep_ms=0"},
	}
	for i := 0; i < len(env); i += 2 {
		s.Env[env[i]] = env[i+1]
	}
	return s
}

func start(t *testing.T, s *Spawner, spec Spec) *Child {
	t.Helper()
	c, err := s.Start(within(t), spec)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if remaining := members(c.Pid()); len(remaining) > 0 {
			t.Errorf("processes %v of the group outlived Stop", remaining)
		}
	})
	return c
}

func connect(t *testing.T, spec Spec) *Conn {
	t.Helper()
	c := NewConn(start(t, newTestSpawner(t), spec), Options{})
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// next receives one message.
func next(t *testing.T, c *Conn) transport.Inbound {
	t.Helper()
	in, err := c.Recv(within(t))
	if err != nil {
		t.Fatalf("recv: %v", err)
	}
	return in
}

// ended receives until the end of the connection and returns everything received.
func ended(t *testing.T, c *Conn) (all []transport.Inbound, exit *transport.ExitError) {
	t.Helper()
	for {
		in, err := c.Recv(within(t))
		if err == nil {
			all = append(all, in)
			continue
		}
		if !errors.As(err, &exit) {
			t.Fatalf("recv: got %v, want an ExitError", err)
		}
		return all, exit
	}
}

func request(id uint64, params string) jsonrpc.Message {
	return jsonrpc.Request(jsonrpc.IntID(id), "tools/call", []byte(params))
}

// members lists the processes of a group that are no zombies.
func members(group int) (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it ended meanwhile
		}
		// The format is "pid (name) state ppid pgrp", where the name may hold anything, also parentheses.
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if fields[0] != "Z" && fields[0] != "X" && fields[2] == strconv.Itoa(group) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			pids = append(pids, pid)
		}
	}
	return pids
}

func alive(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	state := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))[0]
	return state != "Z" && state != "X"
}

// eventually polls for a condition that no event announces.
func eventually(t *testing.T, label string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", label)
		}
	}
}
