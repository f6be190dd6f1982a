package streamable_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"mcpd/protocol/jsonrpc"
	"mcpd/transport/streamable"
)

// coded is an answer whose body has a content coding.
func coded(coding string, encode func(string) string, code int, kind, text string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Encoding", coding)
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(code)
		io.WriteString(w, encode(text))
	}
}

func encoded(text string, by func(io.Writer) io.WriteCloser) string {
	var b bytes.Buffer
	w := by(&b)
	io.WriteString(w, text)
	w.Close()
	return b.String()
}

func gzipped(text string) string {
	return encoded(text, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
}

func zlibbed(text string) string {
	return encoded(text, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) })
}

func deflated(text string) string {
	return encoded(text, func(w io.Writer) io.WriteCloser {
		f, _ := flate.NewWriter(w, flate.DefaultCompression) // the level is good
		return f
	})
}

// Every request asks for a body as it is. One that comes compressed nevertheless is decoded, and the
// connection is used again afterwards.
func TestClientAsksForIdentity(t *testing.T) {
	var mu sync.Mutex
	asked, remote := []string{}, map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.Header.Get("Accept-Encoding"))
		remote[r.RemoteAddr] = true
		mu.Unlock()
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		body, _ := io.ReadAll(r.Body)
		m, err := jsonrpc.Decode(body, jsonrpc.Limits{})
		if err != nil || m.ID.IsZero() {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		coded("gzip", gzipped, 200, "application/json", string(jsonrpc.Response(m.ID, nil).Append(nil)))(w)
	}))
	defer server.Close()
	carrier := streamable.NewTransport(nil)
	defer carrier.CloseIdleConnections()
	c := newTestClient(t, streamable.ClientOptions{URL: server.URL + "/mcp", Transport: carrier})
	for i := range 5 {
		send(t, c, call(uint64(i+1), "x"))
		if in := recv(t, c); in.Err != nil {
			t.Fatal(in.Err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for _, a := range asked {
		if a != "POST identity" && a != "GET identity" {
			t.Errorf("asked %q", a)
		}
	}
	if len(asked) < 5 || len(remote) > 2 || !slices.Contains(asked, "POST identity") {
		t.Errorf("%d requests over %d connections: %q", len(asked), len(remote), asked)
	}
}
