package streamable

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"testing"
)

// net/http reads the same answer from a plain answer, and finds nothing in it with another meaning.
func FuzzPlainAnswer(f *testing.F) {
	const start, end = "HTTP/1.1 200 OK\r\n", "\r\n\r\n{\"id\":1}"
	for _, fields := range []string{
		"Content-Type: application/json\r\nContent-Length: 8",
		"content-type: Application/JSON; charset=utf-8\r\nCONTENT-LENGTH: 08\r\nKeep-Alive: " +
			"timeout=5\r\nConnection: Keep-Alive",
		"Content-Type: application/json\r\nContent-Length: 8\r\nMcp-Session-Id: s",
		"Content-Type: application/json\r\nContent-Length: 8\r\nMcp-Session-Id: other",
		"Content-Type: application/json\r\nContent-Length: 8, 8",
		"Content-Type: application/json\r\nContent-Length: 8\r\nContent-Length: 8",
		"Content-Type: application/json\r\nContent-Length: +8",
		"Content-Type: application/json\r\nContent-Length: 8 ",
		"Content-Type: application/json\r\nContent-Length : 8",
		"Content-Type: application/json\r\nContent-Length:8",
		"Content-Type: application/json\r\nContent-Length: 7",
		"Content-Type: application/json\r\nContent-Length: 9",
		"Content-Type: text/plain\r\nContent-Type: application/json\r\nContent-Length: 8",
		"Content-Type: application/json\r\nContent-Length: 8\r\nConnection: keep-alive, close",
		"Content-Type: application/json\r\nContent-Length: 8\r\nConnection: keep-alive\r\nConnection: " +
			"cLOSE",
		"Content-Type: application/json\r\nContent-Length: 8\r\nTransfer-Encoding: chunked",
		"Content-Type: application/json\r\nContent-Length: 8\r\nTrailer: X",
		"Content-Type: application/json\r\nContent-Length: 8\r\nContent-Encoding: gzip",
		"Content-Type: application/json\r\nContent-Length: 8\r\nX: a\r\n folded",
		"Content-Type: application/json\r\nContent-Length: 8\r\nX: a\rb\x00c",
		"Content-Type: application/json\r\nContent-Length: 8\r\nX: a\nTransfer-Encoding: chunked",
		"Content-Type: application/json\r\nContent-Length: 8\r\nX: \xe4\xf6",
		"Content-Type: application/json\r\nContent-Length: 8\r\nX\xe4: a",
		"Content-Type: application/json\r\nContent-Length: 8\r\nX!#$%&'*+.^_`|~: a",
		"Content-Type: application/json\r\nContent-Length: 8\r\nKeep-Alive: timeout=5\r\nKeep-Alive: " +
			"timeout=2",
	} {
		f.Add([]byte(start+fields+end), "s")
		f.Add([]byte("HTTP/1.0"+start[8:]+fields+end), "s")
		f.Add([]byte(start+fields+end+"HTTP/1.1 200 OK\r\n"), "s")
	}
	f.Add([]byte(start+end), "")
	f.Add([]byte("HTTP/1.1 103 Early Hints\r\n\r\n"+start+
		"Content-Type: application/json\r\nContent-Length: 8"+end), "")
	f.Fuzz(func(t *testing.T, data []byte, session string) {
		w := &upstreamConn{in: bufio.NewReader(bytes.NewReader(data))}
		_, _ = w.in.Peek(1) // no input at all is no answer
		a, ok := w.plainAnswer(session)
		if !ok {
			return
		}
		in := bufio.NewReader(bytes.NewReader(data))
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("net/http does not read it: %v", err)
		}
		body, err := io.ReadAll(resp.Body)
		switch h := resp.Header; {
		case err != nil || !bytes.Equal(body, a.body) || resp.ContentLength != int64(len(a.body)):
			t.Errorf("a body %q, of %d bytes, %v; taken for %q", body, resp.ContentLength, err, a.body)
		case in.Buffered() != 0 || a.size != len(data):
			t.Error("more follows")
		case resp.StatusCode != http.StatusOK || resp.Proto != http11 || resp.Close ||
			resp.TransferEncoding != nil || resp.Trailer != nil:
			t.Errorf("%s %s, closes %v, %v, trailer %v", resp.Proto, resp.Status, resp.Close,
				resp.TransferEncoding, resp.Trailer)
		case media(h) != jsonType || len(h["Content-Type"]) != 1 || h["Content-Encoding"] != nil:
			t.Errorf("type %q, encoding %q", h["Content-Type"], h["Content-Encoding"])
		case a.lasts != keptFor(h):
			t.Errorf("it may be used again for %v, want %v", a.lasts, keptFor(h))
		}
		for _, id := range resp.Header["Mcp-Session-Id"] {
			if id != session {
				t.Errorf("session %q, want %q", id, session)
			}
		}
	})
}
