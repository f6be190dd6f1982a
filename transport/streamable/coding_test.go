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
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// coded is an answer whose body has a content coding.
func coded(coding string, encode func(string) string, code int,
	kind, text string) func(http.ResponseWriter) {
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
		f, _ := flate.NewWriter(w, flate.DefaultCompression) // the level is valid
		return f
	})
}

func brotlied(text string) string {
	return encoded(text, func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) })
}

func zstandard(text string) string {
	return encoded(text, func(w io.Writer) io.WriteCloser {
		z, _ := zstd.NewWriter(w) // the options are valid
		return z
	})
}

// The memory of a decoder counts for the tenant while the body is read. Without room for it, the
// body is refused at once.
func TestDecodersAreCounted(t *testing.T) {
	large := `{"jsonrpc":"2.0","id":1,"result":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`
	for coding, encode := range map[string]func(string) string{"br": brotlied, "zstd": zstandard} {
		for limit, fits := range map[int]bool{32 << 20: true, 2 << 20: false} {
			synctest.Test(t, func(t *testing.T) {
				budget := transport.NewByteBudget(limit)
				p := newPeer()
				p.posts["x"] = func(w http.ResponseWriter, _ *http.Request, _ jsonrpc.Message) {
					coded(coding, encode, 200, "application/json", large)(w)
				}
				c := newTestClient(t, streamable.ClientOptions{
					URL: "http://peer/mcp", Transport: memory{p.ServeHTTP}, Room: budget,
				})
				send(t, c, call(1, "x"))
				in := recv(t, c)
				if refused := in.Err != nil &&
					strings.Contains(in.Err.Error(), "no room for the"); (in.Err == nil) != fits ||
					refused == fits {
					t.Errorf("%s, room of %d: %v", coding, limit, in.Err)
				}
				handled(t, c)
				synctest.Wait()
				now, most := budget.Used()
				if least := 1 << 20; now != 0 || fits && most < least {
					t.Errorf("%s, room of %d: %d bytes are still counted, %d were at most", coding,
						limit, now, most)
				}
			})
		}
	}
}

// Every request asks for an uncompressed body. A compressed body is decoded nevertheless, and the
// connection is reused.
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
		coded("gzip", gzipped, 200, "application/json",
			string(jsonrpc.Response(m.ID, nil).Append(nil)))(w)
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
