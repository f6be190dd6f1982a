package streamable

import (
	"bufio"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// A head that is parsed here gives the same result as with net/http, and leaves the same input on
// the connection. For any other head, no input is consumed.
func FuzzPlainHead(f *testing.F) {
	for _, seed := range []string{
		okay,
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Sun, 22 Nov 2026 10:00:00 " +
			"GMT\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1",
		"HTTP/1.1 404 Not Found\r\nx: a\r\nX: b\r\nY: c\r\ncontent-length: 0\r\n\r\n",
		"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nMcp-Session-Id: a\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nX: \xff\r\nContent-Length: 02\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nPragma: no-cache\r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nX : a\r\n b\r\nContent-Length: 2\r\n\r\n{}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		in := arrived(text)
		got := plainHead(in)
		if got == nil {
			if left, err := io.ReadAll(in); string(left) != text || err != nil {
				t.Fatalf("%q is left of %q: %v", left, text, err)
			}
			return
		}
		other := bufio.NewReader(strings.NewReader(text))
		want, err := http.ReadResponse(other, nil)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		said, gotErr := io.ReadAll(got.Body)
		meant, wantErr := io.ReadAll(want.Body)
		left, _ := io.ReadAll(in)      // of a string
		others, _ := io.ReadAll(other) // likewise
		got.Body, want.Body = nil, nil
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\n got %+v\nwant %+v", text, got, want)
		}
		if string(said) != string(meant) || gotErr != wantErr || string(left) != string(others) {
			t.Errorf("%q: got %q %v and %q, want %q %v and %q", text, said, gotErr, left, meant,
				wantErr, others)
		}
	})
}

// arrived returns a connection from which something was read.
func arrived(text string) *bufio.Reader {
	in := bufio.NewReader(strings.NewReader(text))
	_, _ = in.Peek(1) // there may be nothing
	return in
}

// Common responses of servers are read without net/http.
func TestPlainHeadReadsWhatServersSend(t *testing.T) {
	for text, want := range map[string]bool{
		okay: true,
		"HTTP/1.1 200 OK\r\nDate: Sun, 22 Nov 2026 10:00:00 GMT\r\nContent-Type: " +
			"application/json\r\nContent-Length: 2\r\n\r\n{}": true,
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n": false,
		"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n":                                       true,
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}":                      false,
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n":                                                 false,
	} {
		if got := plainHead(arrived(text)) != nil; got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}
