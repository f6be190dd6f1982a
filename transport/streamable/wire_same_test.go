package streamable

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpd/protocol/jsonrpc"
)

// Transport accepts or refuses unusual responses, nearly all of which occur in practice, as
// net/http does. It also reuses the connection in the same cases.
func TestWireTakesResponsesAsNetHTTPDoes(t *testing.T) {
	const status, chunked = "HTTP/1.1 200 OK\r\n", "Transfer-Encoding: chunked\r\n"
	var all sync.WaitGroup
	defer all.Wait()
	for _, tt := range []struct {
		name, answer string
		ends         bool // the connection ends with it: a reader would wait
	}{
		{"plain", okay, false},
		{"two equal lengths", status + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", false},
		{"two lengths", status + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", false},
		{"a list of lengths", status + "Content-Length: 2, 2\r\n\r\n{}", false},
		{"a length with a sign", status + "Content-Length: +2\r\n\r\n{}", false},
		{"a negative length", status + "Content-Length: -2\r\n\r\n{}", false},
		{"a length without end", status + "Content-Length: 99999999999999999999\r\n\r\n{}", false},
		{"too short a body", status + "Content-Length: 3\r\n\r\n{}", true},
		{"too long a body", status + "Content-Length: 1\r\n\r\n{}", false},
		{"a length and chunks", status + "Content-Length: 9\r\n" + chunked +
			"\r\n2\r\n{}\r\n0\r\n\r\n", false},
		{"chunks of two codings",
			status + "Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", false},
		{"chunks twice", status + chunked + chunked + "\r\n2\r\n{}\r\n0\r\n\r\n", false},
		{"another coding", status + "Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}", true},
		{"chunks with extensions", status + chunked + "\r\n2;a=b;c=\"d\"\r\n{}\r\n0;e\r\n\r\n", false},
		{"chunks with extensions without end",
			status + chunked + "\r\n" + strings.Repeat("1;"+strings.Repeat("x", 2000)+"\r\n{\r\n", 50) +
				"0\r\n\r\n", false},
		{"chunks with trailers", status + chunked +
			"Trailer: A\r\n\r\n2\r\n{}\r\n0\r\nA: b\r\nC: d\r\n\r\n", false},
		{"trailers without end", status + chunked + "\r\n2\r\n{}\r\n0\r\n" +
			strings.Repeat("A: b\r\n", 9000) + "\r\n", true},
		{"a chunk of a bad size", status + chunked + "\r\n0x2\r\n{}\r\n0\r\n\r\n", false},
		{"a chunk of a huge size", status + chunked + "\r\nfffffffffffffffff\r\n{}\r\n0\r\n\r\n", true},
		{"a chunk that is longer", status + chunked + "\r\n1\r\n{}\r\n0\r\n\r\n", false},
		{"chunks that break off", status + chunked + "\r\n2\r\n{}\r\n", true},
		{"chunks without the last line", status + chunked + "\r\n2\r\n{}\r\n0\r\n", true},
		{"chunks with bare line feeds", status + chunked + "\r\n2\n{}\n0\n\n", true},
		{"a head with bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 2\n\n{}", false},
		{"a folded field", status + "X: a\r\n b\r\nContent-Length: 2\r\n\r\n{}", false},
		{"a folded length", status + "Content-Length:\r\n 2\r\n\r\n{}", false},
		{"a first line that is folded", status + " X: a\r\nContent-Length: 2\r\n\r\n{}", false},
		{"a blank before the colon", status + "Content-Length : 2\r\n\r\n{}", true},
		{"a field without a colon", status + "X\r\nContent-Length: 2\r\n\r\n{}", false},
		{"a field without a name", status + ": x\r\nContent-Length: 2\r\n\r\n{}", false},
		{"a NUL in a field", status + "X: a\x00b\r\nContent-Length: 2\r\n\r\n{}", false},
		{"a field twice", status + "X: a\r\nX: b\r\nContent-Length: 2\r\n\r\n{}", false},
		{"204 with a body", "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n{}", false},
		{"204 with chunks", "HTTP/1.1 204 No Content\r\n" + chunked + "\r\n2\r\n{}\r\n0\r\n\r\n", false},
		{"304 with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n", true},
		{"nothing", "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", false},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", false},
		{"HTTP/1.0 in chunks", "HTTP/1.0 200 OK\r\n" + chunked + "\r\n2\r\n{}\r\n0\r\n\r\n", true},
		{"HTTP/0.9", "{}", true},
		{"HTTP/2", "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", false},
		{"HTTP/2 frames", "\x00\x00\x12\x04\x00\x00\x00\x00\x00", true},
		{"HTTP/1.2", "HTTP/1.2 200 OK\r\nContent-Length: 2\r\n\r\n{}", false},
		{"no reason", "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}", false},
		{"a short status", "HTTP/1.1 99 X\r\nContent-Length: 2\r\n\r\n{}", false},
		{"a status below all", "HTTP/1.1 099 X\r\nContent-Length: 2\r\n\r\n{}", false},
		{"a long status", "HTTP/1.1 2000 X\r\nContent-Length: 2\r\n\r\n{}", false},
		{"a blank line before", "\r\n" + okay, false},
		{"go on", "HTTP/1.1 100 Continue\r\n\r\n" + okay, false},
		{"hints", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", maxInterim-1) +
			okay, false},
		{"hints with a length", "HTTP/1.1 103 Early Hints\r\nContent-Length: 2\r\n\r\n" + okay, false},
		{"the last", "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 2\r\n\r\n{}", false},
		{"to the end", status + "\r\n{}", true},
		{"surplus", okay + okay, false},
		{"a redirect", "HTTP/1.1 307 X\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
			false},
		{"no answer", "", true},
	} {
		all.Go(func() {
			twice := func(transport func(*Transport) http.RoundTripper) (got string) {
				url, connections := script(t,
					[]string{tt.answer, tt.answer}[:map[bool]int{true: 1, false: 2}[tt.ends]]...)
				w := newWired(t)
				for range 2 {
					got += said(t, transport(w), url) + "; "
				}
				if connections.Load() > 1 {
					got += "not used again"
				}
				w.CloseIdleConnections()
				return got
			}
			var got [2]string
			got[0] = twice(func(w *Transport) http.RoundTripper { return w })
			// net/http notices surplus input after a response at some time, before the next request or after
			// it.
			for tries := 0; tries < 5 && got[0] != got[1]; tries++ {
				got[1] = twice(func(w *Transport) http.RoundTripper { return w.std })
			}
			if got[0] != got[1] {
				t.Errorf("%s:\n got %s\nwant %s", tt.name, got[0], got[1])
			}
		})
	}
}

// said returns the result of a request.
func said(t *testing.T, send http.RoundTripper, url string) string {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := send.RoundTrip(r)
	if err != nil {
		return "no response"
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	label := resp.Status + " " + string(body)
	for _, name := range []string{"X", "Location", "Content-Length"} {
		label += " " + strings.Join(resp.Header[name], "|")
	}
	if err != nil {
		label += " cut off"
	}
	return label
}

// A request is sent to the same address and in the same form as by net/http.
func TestWireSendsWhatNetHTTPSends(t *testing.T) {
	type change func(*http.Request)
	header := func(name, value string) change {
		return func(r *http.Request) { r.Header[name] = []string{value} }
	}
	for _, tt := range []struct {
		method, url, body string
		change            change
	}{
		{"POST", "http://h.example/mcp?a=b&c", "{}", nil},
		{"POST", "http://h.example:/mcp", "{}", nil},
		{"POST", "http://h.example:81", "{}", nil},
		{"POST", "http://bücher.example/", "{}", nil},
		{"POST", "http://[::1]/", "{}", nil},
		{"POST", "http://[::1]:/", "{}", nil},
		{"POST", "http://[fe80::1%25eth0]:81/", "{}", nil},
		{"POST", "http://[fe80::1%25eth0]/", "{}", nil},
		{"GET", "http://h.example/", "", nil},
		{"DELETE", "http://h.example/", "", nil},
		{"HEAD", "http://h.example/", "", nil},
		{"POST", "http://h.example/", "", nil},
		{"", "http://h.example/", "", func(r *http.Request) { r.Method = "" }},
		{"GET", "http://h.example/", "", func(r *http.Request) {
			r.Method = "GET / HTTP/1.1\r\nX: y\r\n\r\n"
		}},
		{"POST", "http://h.example/", "{}", func(r *http.Request) { r.Host = "other.example" }},
		{"POST", "http://h.example/", "{}", func(r *http.Request) { r.Close = true }},
		{"POST", "http://h.example/", "{}", func(r *http.Request) { r.Body = nil }},
		{"POST", "http://h.example/", "{}", func(r *http.Request) {
			r.TransferEncoding = []string{"chunked"}
		}},
		{"POST", "http://h.example/", "{}", header("Content-Length", "7")},
		{"POST", "http://h.example/", "{}", header("Transfer-Encoding", "chunked")},
		{"POST", "http://h.example/", "{}", header("Host", "other.example")},
		{"POST", "http://h.example/", "{}", header("A B", "x")},
		{"POST", "http://h.example/", "{}", header("", "x")},
		{"POST", "http://h.example/", "{}", header("X", "a\x01b")},
		{"POST", "http://h.example/", "{}", header("X", "a\x7fb")},
		{"POST", "http://h.example/", "{}", header("X", "a\tbé")},
	} {
		var got [2]string
		for i := range got {
			heard := make(chan string, 1)
			w := NewTransport(func(_ context.Context, _, address string) (net.Conn, error) {
				client, far := net.Pipe()
				go listen(far, address+" ", heard) // owner: the end of the pipe
				return client, nil
			})
			var send http.RoundTripper = w
			if i == 1 {
				send = w.std
			}
			var body io.Reader
			if tt.body != "" {
				body = strings.NewReader(tt.body)
			}
			r, err := http.NewRequestWithContext(t.Context(), cmp.Or(tt.method, "GET"), tt.url, body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header["User-Agent"] = []string{"mcpd"}
			if tt.change != nil {
				tt.change(r)
			}
			resp, err := send.RoundTrip(r)
			if got[i] = "refused"; err == nil {
				_, _ = io.ReadAll(resp.Body) // the body is empty
				got[i] = <-heard
			}
			w.CloseIdleConnections()
		}
		if got[0] != got[1] {
			t.Errorf("%s %s:\n got %s\nwant %s", tt.method, tt.url, got[0], got[1])
		}
	}
}

// listen reports the next request, with its fields in order, and answers it.
func listen(conn net.Conn, address string, heard chan<- string) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	var lines []string
	for {
		line, err := in.ReadString('\n')
		if err != nil || line == "\r\n" {
			break
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	heard <- address + strings.Join(lines, "")
	// The sender may be gone.
	_, _ = io.WriteString(conn,
		"HTTP/1.1 202 Accepted\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
	// A sender that cannot send all of its request may not read the answer.
	_, _ = io.Copy(io.Discard, in)
}

// A request that the client writes itself equals that of its transport, including the body.
func TestClientWritesWhatItsTransportWould(t *testing.T) {
	for _, url := range []string{"http://h.example:81/mcp?a=b", "http://h.example"} {
		var got [2]string
		for i := range got {
			heard := make(chan string, 1)
			own := NewTransport(func(_ context.Context, _, address string) (net.Conn, error) {
				client, far := net.Pipe()
				go listen(far, address+" ", heard) // owner: the end of the pipe
				return client, nil
			})
			var send http.RoundTripper = own
			if i == 1 {
				send = struct{ http.RoundTripper }{own}
			}
			c, err := NewClient(ClientOptions{
				URL: url, Transport: send, Header: http.Header{"X-Key": {"geheim"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if quick := c.templateFor("", postAccept).head != nil; quick != (i == 0) {
				t.Errorf("%s: written by the client itself: %v", url, quick)
			}
			if err := c.Send(t.Context(), jsonrpc.Request(jsonrpc.IntID(1), "tools/call", nil)); err != nil {
				t.Fatal(err)
			}
			got[i] = <-heard
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if got[0] != got[1] || !strings.Contains(got[0], "X-Key: geheim\r\n") {
			t.Errorf("%s:\n got %s\nwant %s", url, got[0], got[1])
		}
	}
}
