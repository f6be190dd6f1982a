package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"

	"mcpd/bench/subject"
)

// serveProxy runs net/http's reverse proxy to the server at a URL, with as many idle connections as
// needed. Most gateways are built on it.
func serveProxy(_ context.Context, argument string) (string, error) {
	to, err := url.Parse(argument)
	if err != nil {
		return "", err
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL, r.Out.Host = to, to.Host },
		Transport: &http.Transport{MaxIdleConnsPerHost: maxKept, DisableCompression: true},
	}
	return subject.Listen(proxyRole, "", proxy)
}

// maxKept is how many idle connections a relay keeps. It is more than the number of callers.
const maxKept = 4096

// relay does the least that a gateway to an HTTP server can do. It uses net/http towards clients.
// Towards the server it manages connections itself, with one write and usually one read for each
// call, on the caller's goroutine. It relies on the form of the echo server's responses.
type relay struct {
	address, path string

	mu   sync.Mutex // guards kept
	kept []*keptConn
}

type keptConn struct {
	net.Conn
	in  *bufio.Reader
	out []byte
}

// serveRelay relays to the server at a URL.
func serveRelay(_ context.Context, argument string) (string, error) {
	to, err := url.Parse(argument)
	if err != nil {
		return "", err
	}
	return subject.Listen(relayRole, "", &relay{address: to.Host, path: to.Path})
}

func (r *relay) take() (*keptConn, error) {
	r.mu.Lock()
	if n := len(r.kept); n > 0 {
		c := r.kept[n-1]
		r.kept = r.kept[:n-1]
		r.mu.Unlock()
		return c, nil
	}
	r.mu.Unlock()
	conn, err := net.Dial("tcp", r.address)
	if err != nil {
		return nil, err
	}
	return &keptConn{Conn: conn, in: bufio.NewReader(conn)}, nil
}

func (r *relay) give(c *keptConn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, c)
}

// carried are the header fields that are passed on in both directions.
var carried = []string{
	"Content-Type", "Accept", "Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name",
}

// ServeHTTP relays one request.
func (r *relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	c, err := r.take()
	if err == nil {
		err = c.ask(r, req)
	}
	if err == nil {
		err = c.answer(w)
	}
	if err != nil {
		if c != nil {
			_ = c.Close() // it is unusable
		}
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	r.give(c)
}

func (c *keptConn) ask(r *relay, req *http.Request) error {
	out := append(append(append(c.out[:0], req.Method...), ' '), r.path...)
	out = append(append(append(out, " HTTP/1.1\r\nHost: "...), r.address...), "\r\n"...)
	for _, name := range carried {
		for _, value := range req.Header[name] {
			out = append(append(append(append(out, name...), ": "...), value...), "\r\n"...)
		}
	}
	out = append(out, "Content-Length: "...)
	out = append(strconv.AppendInt(out, max(0, req.ContentLength), 10), "\r\n\r\n"...)
	head := len(out)
	out = append(out, make([]byte, max(0, min(req.ContentLength, subject.MaxMessage)))...)
	c.out = out
	if _, err := io.ReadFull(req.Body, out[head:]); err != nil {
		return err
	}
	_, err := c.Write(out)
	return err
}

var errForm = errors.New("not an answer of the echo server")

func (c *keptConn) answer(w http.ResponseWriter) error {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	_, rest, _ := bytes.Cut(line, []byte(" "))
	status, err := strconv.Atoi(string(rest[:min(3, len(rest))]))
	if err != nil {
		return fmt.Errorf("%w: %q", errForm, line)
	}
	length := 0
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		name, value, found := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(": "))
		if len(name) == 0 {
			break
		}
		if !found {
			return fmt.Errorf("%w: %q", errForm, line)
		}
		switch string(name) {
		case "Content-Length":
			if length, err = strconv.Atoi(string(value)); err != nil {
				return fmt.Errorf("%w: %q", errForm, line)
			}
		case "Transfer-Encoding":
			return fmt.Errorf("%w: %q", errForm, line)
		case "Content-Type":
			w.Header()["Content-Type"] = []string{string(value)}
		case "Mcp-Session-Id":
			w.Header()["Mcp-Session-Id"] = []string{string(value)}
		}
	}
	w.Header()["Content-Length"] = []string{strconv.Itoa(length)}
	w.WriteHeader(status)
	if length <= c.in.Buffered() {
		body, err := c.in.Peek(length)
		if err != nil {
			return err
		}
		_, _ = w.Write(body) // the client may be gone
		_, err = c.in.Discard(length)
		return err
	}
	_, err = io.CopyN(w, c.in, int64(length))
	return err
}
