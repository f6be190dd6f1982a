package interop

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"testing"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport/streamable"
)

// duplex carries messages over a transport that has one channel for each direction: stdio, and
// HTTP+SSE of 2024-11-05. The transport does not say to which request a message belongs, so every
// open request gets all notifications and requests of the server.
type duplex struct {
	version protocol.Version
	write   func([]byte) error

	mu    sync.Mutex // guards the fields below
	ended error
	open  map[jsonrpc.ID]chan jsonrpc.Message
	keep  func(jsonrpc.Message)
}

func newDuplex(v protocol.Version, write func([]byte) error) *duplex {
	return &duplex{version: v, write: write, open: map[jsonrpc.ID]chan jsonrpc.Message{}}
}

// pending is larger than the number of messages that a client of the matrix receives during one
// request.
const pending = 1000

func (d *duplex) exchange(ctx context.Context, m jsonrpc.Message,
	take func(jsonrpc.Message) bool) error {
	in := make(chan jsonrpc.Message, pending)
	d.mu.Lock()
	if d.ended != nil {
		close(in)
	} else {
		d.open[m.ID] = in
	}
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		delete(d.open, m.ID)
		d.mu.Unlock()
	}()
	if err := d.send(m); err != nil {
		return err
	}
	for {
		select {
		case got, ok := <-in:
			if !ok {
				return d.ended
			}
			if take(got) {
				return nil
			}
		case <-ctx.Done():
			return d.send(cancelled(m))
		}
	}
}

func (d *duplex) send(m jsonrpc.Message) error { return d.write(m.Append(nil)) }

func (d *duplex) opened(keep func(jsonrpc.Message)) error {
	if !d.version.Has(protocol.Initialize) {
		return nil
	}
	d.mu.Lock()
	d.keep = keep
	d.mu.Unlock()
	return d.send(jsonrpc.Notification("notifications/initialized", nil))
}

// received passes a message to the requests to which it may belong.
func (d *duplex) received(text []byte) error {
	// the reader reuses the buffer of the text
	m, err := jsonrpc.Decode(bytes.Clone(text), jsonrpc.Limits{})
	if err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if m.Method == "" {
		if in, ok := d.open[m.ID]; ok {
			in <- m
		}
		return nil
	}
	if d.keep != nil {
		d.keep(m)
	}
	for _, in := range d.open {
		in <- m
	}
	return nil
}

// end marks the channel as closed, with the reason.
func (d *duplex) end(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = err
	for _, in := range d.open {
		close(in)
	}
	clear(d.open)
}

// dialStdio starts `mcpd stdio` for an endpoint of a host.
func dialStdio(t *testing.T, at string, v protocol.Version) messageCarrier {
	command := stdio(t, []string{"MCPD_URL=" + at + "/mcp"})
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	d := newDuplex(v, func(text []byte) error {
		mu.Lock()
		defer mu.Unlock()
		_, err := in.Write(append(text, '\n'))
		return err
	})
	read := make(chan struct{})
	go func() { // owner: the cleanup, which waits for this goroutine
		defer close(read)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		err := io.EOF
		for err == io.EOF && lines.Scan() {
			if wrong := d.received(lines.Bytes()); wrong != nil {
				err = wrong
			}
		}
		d.end(err)
		_, _ = io.Copy(io.Discard, out) // so that the process is not blocked
	}()
	t.Cleanup(func() {
		in.Close()
		<-read
		if err := command.Wait(); err != nil {
			t.Errorf("mcpd stdio: %v", err)
		}
	})
	return d
}

// dialOldHTTP opens a session over HTTP+SSE.
func dialOldHTTP(t *testing.T, at string, v protocol.Version) messageCarrier {
	carrier := &http.Transport{DisableCompression: true}
	t.Cleanup(carrier.CloseIdleConnections)
	base, err := url.Parse(at + "/sse")
	if err != nil {
		t.Fatal(err)
	}
	do := func(ctx context.Context, method, target string, body []byte,
		want int) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		if method == http.MethodPost {
			r.Header.Set("Content-Type", "application/json")
		}
		response, err := carrier.RoundTrip(r)
		if err == nil && response.StatusCode != want {
			response.Body.Close()
			return nil, errors.New(response.Status)
		}
		return response, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := do(ctx, http.MethodGet, base.String(), nil, http.StatusOK)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	events := streamable.NewReader(stream.Body, streamable.ReaderLimits{})
	first, err := events.Next()
	if err != nil || first.Type != "endpoint" {
		cancel()
		t.Fatalf("the stream begins with %+v, %v", first, err)
	}
	target, err := base.Parse(string(first.Data))
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	d := newDuplex(v, func(text []byte) error {
		response, err := do(context.Background(), http.MethodPost, target.String(), text,
			http.StatusAccepted)
		if err == nil {
			response.Body.Close()
		}
		return err
	})
	done := make(chan struct{})
	go func() { // owner: the cleanup, which waits for this goroutine
		defer close(done)
		defer stream.Body.Close()
		for {
			e, err := events.Next()
			if err == nil {
				err = d.received(e.Data)
			}
			if err != nil {
				d.end(err)
				return
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return d
}
