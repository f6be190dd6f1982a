package bench

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/demo"
	"mcpd/internal/load"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
	"mcpd/supervisor/otp"
	"mcpd/transport"
	"mcpd/transport/pipe"
	"mcpd/transport/stdio"
)

// direct calls a server without a host between: over its own transport, with as little around it as possible. It is a load.Client for
// many callers at once.
type direct struct {
	up transport.Upstream

	mu    sync.Mutex // guards the fields below
	ids   uint64
	waits map[jsonrpc.ID]slot
}

var _ load.Client = (*direct)(nil)

// newDirect shakes hands and reads answers from then on. Both the connection and the reader end with the test.
func newDirect(t *testing.T, up transport.Upstream) *direct {
	t.Helper()
	d := &direct{up: up, waits: map[jsonrpc.ID]slot{}}
	read := make(chan struct{})
	go func() { // owner: the cleanup
		defer close(read)
		for {
			in, err := up.Recv(context.Background()) // ends with the connection
			if err != nil {
				return
			}
			d.mu.Lock()
			wait := d.waits[in.Message.ID]
			delete(d.waits, in.Message.ID)
			d.mu.Unlock()
			if wait != nil {
				wait.Finish(in.Message)
			}
		}
	}()
	t.Cleanup(func() {
		_ = up.Close(context.Background())
		<-read
	})
	if _, err := d.request(t.Context(), "initialize", jsontext.Value(initializeParams)); err != nil {
		t.Fatal(err)
	}
	if err := up.Send(t.Context(), jsonrpc.Notification("notifications/initialized", nil)); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *direct) request(ctx context.Context, method string, params jsontext.Value) (jsontext.Value, error) {
	out := make(slot, 1)
	d.mu.Lock()
	d.ids++
	id := jsonrpc.IntID(d.ids)
	d.waits[id] = out
	d.mu.Unlock()
	if err := d.up.Send(ctx, jsonrpc.Request(id, method, params)); err != nil {
		return nil, err
	}
	select {
	case m := <-out:
		if m.Error != nil {
			return nil, m.Error
		}
		return m.Result, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", method, ctx.Err())
	}
}

// Call implements load.Client.
func (d *direct) Call(ctx context.Context, nonce load.Nonce) (load.Nonce, error) {
	result, err := d.request(ctx, "tools/call", jsontext.Value(`{"name":"echo","arguments":{"message":"`+string(nonce)+`"}}`))
	if err != nil {
		return "", err
	}
	text, ok := splice.Get(result, "content", "0", "text")
	if !ok {
		return "", fmt.Errorf("no text in %s", result)
	}
	got, _ := splice.Unquote(text)
	return load.Nonce(got), nil
}

// directStdio is the echo server as a child process.
func directStdio(t *testing.T) *direct {
	t.Helper()
	s := stdio.NewSpawner(stdio.SpawnerOptions{})
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	child, err := s.Start(t.Context(), stdio.Spec{Command: os.Args[0], Env: map[string]string{roleVariable: "stdio"}})
	if err != nil {
		t.Fatal(err)
	}
	return newDirect(t, stdio.NewConn(child, stdio.Options{}))
}

// directBuiltin is the built-in server alone in a tree.
func directBuiltin(t *testing.T) *direct {
	t.Helper()
	ours, theirs := pipe.Pair(0)
	sys := otp.NewSystem(otp.Options{})
	t.Cleanup(sys.Close)
	server := otp.Worker(func() otp.Behaviour { return demo.New(demo.Options{Conn: theirs}) })
	if _, err := sys.Start(t.Context(), "demo", otp.Spec{Children: []otp.Child{{ID: "demo", Restart: otp.Temporary, Start: server}}}); err != nil {
		t.Fatal(err)
	}
	return newDirect(t, ours)
}
