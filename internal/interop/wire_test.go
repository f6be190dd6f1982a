package interop

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// wire is a client that sends exactly the given requests and returns the raw responses.
type wire struct {
	t       testing.TB
	url     string
	header  http.Header // sent with every request
	carrier http.RoundTripper
	ctx     context.Context // of its requests; nil is the test's
}

// newWire makes a client of an endpoint. It sends no key if key is empty.
func newWire(t testing.TB, url, key string) *wire {
	connections := &http.Transport{DisableCompression: true}
	t.Cleanup(connections.CloseIdleConnections)
	w := &wire{t: t, url: url, header: http.Header{}, carrier: connections}
	w.header.Set("Content-Type", "application/json")
	w.header.Set("Accept", "application/json, text/event-stream")
	if key != "" {
		w.header.Set("Authorization", "Bearer "+key)
	}
	return w
}

// reply is an HTTP response that was read to its end.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// do sends one request. Headers are pairs of a name and a value; an empty value removes the header.
func (w *wire) do(method, url, body string, headers ...string) reply {
	w.t.Helper()
	ctx := w.ctx
	if ctx == nil {
		ctx = w.t.Context()
	}
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header = w.header.Clone()
	replaced := map[string]bool{}
	for i := 0; i < len(headers); i += 2 {
		name, value := http.CanonicalHeaderKey(headers[i]), headers[i+1]
		if !replaced[name] {
			r.Header.Del(name)
		}
		replaced[name] = true
		switch {
		case name == "Host":
			r.Host = value
		case value != "":
			r.Header[name] = append(r.Header[name], value)
		}
	}
	response, err := w.carrier.RoundTrip(r)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, url, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, url, err)
	}
	return reply{response.StatusCode, response.Header, text}
}

func (w *wire) post(body string, headers ...string) reply {
	w.t.Helper()
	return w.do(http.MethodPost, w.url, body, headers...)
}

const (
	hello       = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"wire","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// open opens a session of a revision. All later requests carry the session's id. The reply is that
// to initialize.
func (w *wire) open(revision string) reply {
	w.t.Helper()
	r := w.post(strings.Replace(hello, "2025-11-25", revision, 1))
	id := r.header.Get("Mcp-Session-Id")
	if r.status != http.StatusOK || id == "" {
		w.t.Fatalf("initialize: %d %s", r.status, r.body)
	}
	w.header.Set("Mcp-Session-Id", id)
	w.header.Set("Mcp-Protocol-Version", revision)
	if r := w.post(initialized); r.status != http.StatusAccepted {
		w.t.Fatalf("initialized: %d %s", r.status, r.body)
	}
	return r
}

// close ends the session.
func (w *wire) close() {
	w.t.Helper()
	if r := w.do(http.MethodDelete, w.url, "", "Content-Type", ""); r.status != http.StatusNoContent {
		w.t.Errorf("DELETE: %d %s", r.status, r.body)
	}
}

// listens opens the session's GET stream, which keeps the session busy until the test ends.
func (w *wire) listens(t testing.TB) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = w.header.Clone()
	r.Header.Set("Accept", "text/event-stream")
	answer, err := w.carrier.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("GET: %s", answer.Status)
	}
}

// message returns the JSON-RPC outcome in a reply: its body, or the last message of its stream.
func (r reply) message(t testing.TB) jsonrpc.Message {
	t.Helper()
	text := r.body
	if strings.HasPrefix(r.header.Get("Content-Type"), "text/event-stream") {
		for line := range bytes.Lines(r.body) {
			if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok && len(bytes.TrimSpace(data)) > 0 {
				text = bytes.TrimSpace(data)
			}
		}
	}
	m, err := jsonrpc.Decode(text, jsonrpc.Limits{})
	if err != nil {
		t.Fatalf("%d %q: %v", r.status, r.body, err)
	}
	return m
}

// result returns a member of the result in a reply, byte for byte.
func (r reply) result(t testing.TB, path ...string) jsontext.Value {
	t.Helper()
	m := r.message(t)
	if m.Error != nil {
		t.Fatalf("error %d: %s", m.Error.Code, m.Error.Message)
	}
	value, ok := jsonedit.Get(m.Result, path...)
	if !ok {
		t.Fatalf("no %v in %s", path, m.Result)
	}
	return value
}
