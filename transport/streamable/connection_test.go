package streamable

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// echoing answers each request with its body.
var echoing = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Write(body)
})

// dialed returns functions that connect to a server of each kind, without TLS and with it.
func dialed(t *testing.T) map[string]func() net.Conn {
	t.Helper()
	cert, key, pool := certificate(t)
	plain := start(t, ServerOptions{Handler: echoing}, func(*http.Server) {})
	secure := start(t, ServerOptions{Handler: echoing, Certificate: loaded(t, cert, key)},
		func(*http.Server) {})
	return map[string]func() net.Conn{
		"plain": func() net.Conn { return connect(t, plain) },
		"TLS": func() net.Conn {
			conn, err := tls.Dial("tcp", secure, &tls.Config{RootCAs: pool})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			return conn
		},
	}
}

// A request with ambiguous framing is answered with 400 and ends the connection: later requests are
// never answered. The previous request, which the client may have sent together with it, is
// answered.
func TestAmbiguousRequestsEndTheConnection(t *testing.T) {
	for kind, dial := range dialed(t) {
		for name, head := range ambiguous {
			conn := dial()
			conn.SetDeadline(time.Now().Add(20 * time.Second))
			io.WriteString(conn, sound[2]+head+"hello"+sound[2]+strings.Repeat("x", 20<<10))
			answers := bufio.NewReader(conn)
			for _, want := range []int{http.StatusOK, http.StatusBadRequest} {
				resp, err := http.ReadResponse(answers, nil)
				if err != nil || resp.StatusCode != want {
					t.Fatalf("%s, %s: %+v, %v, want %d", kind, name, resp, err, want)
				}
				if body := content(t, resp); want == http.StatusOK && body != "hello" {
					t.Errorf("%s, %s: the request before it got %q", kind, name, body)
				}
			}
			if b, err := answers.ReadByte(); !errors.Is(err, io.EOF) && !isReset(err) {
				t.Errorf("%s, %s: got %q, %v after the 400, want the end", kind, name, b, err)
			}
			conn.Close()
		}
	}
}

// Empty lines before a request are ignored, also before the first one, in whatever pieces they
// arrive (RFC 9112 §2.2).
func TestEmptyLinesBeforeARequest(t *testing.T) {
	const get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	for kind, dial := range dialed(t) {
		for _, pieces := range [][]string{
			{"\r\n" + sound[2]},
			{"\r\n\r\n" + sound[2]},
			{"\r\n", sound[2]},
			{"\r", "\n", sound[2]},
			{"\r", "\n" + sound[2][:3], sound[2][3:]},
			{get, "\r\n" + sound[2]},
		} {
			conn := dial()
			conn.SetDeadline(time.Now().Add(20 * time.Second))
			answers := bufio.NewReader(conn)
			for _, piece := range pieces {
				io.WriteString(conn, piece)
				if piece != get {
					time.Sleep(20 * time.Millisecond) // so that it is read separately
					continue
				}
				if resp, err := http.ReadResponse(answers, nil); err != nil || content(t, resp) != "" {
					t.Fatalf("%s, %q: %v, %v", kind, pieces, resp, err)
				}
			}
			resp, err := http.ReadResponse(answers, nil)
			if err != nil || resp.StatusCode != http.StatusOK || content(t, resp) != "hello" {
				t.Errorf("%s, %q: got %v, %v, want 200", kind, pieces, resp, err)
			}
			conn.Close()
		}
	}
}

// A body with ambiguous framing is answered with 400, and the connection ends.
func TestAmbiguousBodiesEndTheConnection(t *testing.T) {
	for kind, dial := range dialed(t) {
		conn := dial()
		conn.SetDeadline(time.Now().Add(20 * time.Second))
		io.WriteString(conn, soundHead+
			"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0;\n\r\n\r\n"+sound[2])
		answers := bufio.NewReader(conn)
		resp, err := http.ReadResponse(answers, nil)
		if err != nil || resp.StatusCode != http.StatusBadRequest {
			t.Fatalf("%s: %+v, %v, want 400", kind, resp, err)
		}
		content(t, resp)
		if _, err := answers.ReadByte(); !errors.Is(err, io.EOF) && !isReset(err) {
			t.Errorf("%s: %v after the 400, want the end", kind, err)
		}
	}
}

// A request in progress is not affected if the next one, which its client has sent already, has
// ambiguous framing.
func TestRequestBeforeAnAmbiguousOneGoesOn(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	address := start(t, ServerOptions{Handler: http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		close(begun)
		select {
		case <-goOn:
			io.WriteString(w, "done")
		case <-r.Context().Done():
			t.Error("the request was given up")
		}
	})}, func(*http.Server) {})
	conn := connect(t, address)
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	io.WriteString(conn, sound[0]+ambiguous["equal lengths"])
	<-begun
	time.Sleep(50 * time.Millisecond)
	close(goOn)
	answers := bufio.NewReader(conn)
	if resp, err := http.ReadResponse(answers, nil); err != nil || content(t, resp) != "done" {
		t.Fatalf("got %v, %v", resp, err)
	}
	if resp, err := http.ReadResponse(answers, nil); err != nil ||
		resp.StatusCode != http.StatusBadRequest {
		t.Errorf("got %v, %v, want 400", resp, err)
	}
}

// Requests have their TLS state, and a client without TLS is told that TLS is required.
func TestSecureListener(t *testing.T) {
	cert, key, pool := certificate(t)
	address := start(t, ServerOptions{Certificate: loaded(t, cert, key),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.TLS == nil || !r.TLS.HandshakeComplete {
				t.Errorf("%s: TLS is %+v", r.Proto, r.TLS)
			}
			io.WriteString(w, r.Proto)
		})}, func(*http.Server) {})
	for proto, h2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		transport := &http.Transport{ForceAttemptHTTP2: h2, TLSClientConfig: &tls.Config{RootCAs: pool}}
		resp, err := (&http.Client{Transport: transport}).Get("https://" + address)
		if err != nil {
			t.Fatal(err)
		}
		if got := content(t, resp); got != proto {
			t.Errorf("got %s, want %s", got, proto)
		}
		transport.CloseIdleConnections()
	}
	resp, err := http.Get("http://" + address)
	if err != nil || resp.StatusCode != http.StatusBadRequest ||
		!strings.Contains(content(t, resp), "HTTPS") {
		t.Errorf("without TLS: %v, %v", resp, err)
	}
}

// A coding that is not exactly "chunked" is unknown, and the following bytes are never read.
func TestUnknownCodingsEndTheConnection(t *testing.T) {
	for kind, dial := range dialed(t) {
		for _, coding := range []string{
			"xchunked", "identity", "gzip, chunked", "chunked, chunked", `"chunked"`, "chunked;a=b", "",
		} {
			conn := dial()
			conn.SetDeadline(time.Now().Add(20 * time.Second))
			io.WriteString(conn, soundHead+"Transfer-Encoding: "+coding+"\r\n\r\n"+sound[2])
			answers := bufio.NewReader(conn)
			resp, err := http.ReadResponse(answers, nil)
			if err != nil || resp.StatusCode != http.StatusNotImplemented {
				t.Fatalf("%s, %s: %+v, %v, want 501", kind, coding, resp, err)
			}
			content(t, resp)
			if _, err := answers.ReadByte(); !errors.Is(err, io.EOF) && !isReset(err) {
				t.Errorf("%s, %s: %v after the 501, want the end", kind, coding, err)
			}
			conn.Close()
		}
	}
}
