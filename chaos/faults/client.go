package faults

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/internal/load"
)

// Client says how the clients of a tenant connect to the host.
type Client struct {
	URL string // of the Streamable HTTP endpoint
	Key string // a bearer token; empty sends none
	// Tool names a tool that takes a text in Argument and returns the same text.
	Tool, Argument string
}

// session opens a session of the tenant. Nothing of it stays at the host once it is closed.
func (c Client) session(ctx context.Context) (*load.Session, error) { return c.sessionOf(ctx, "") }

// sessionOf opens a session of a protocol revision.
func (c Client) sessionOf(ctx context.Context, revision string) (*load.Session, error) {
	return load.Connect(ctx, load.SessionOptions{
		URL: c.URL, Key: c.Key, Tool: c.Tool, Argument: c.Argument, SameID: true, Revision: revision,
	})
}

// inSession returns a fault whose Heal also closes the session s, after it has healed in.
func inSession(s *load.Session, in Injected) Injected {
	heal := in.Heal
	var once sync.Once
	in.Heal = func(ctx context.Context) error {
		err := heal(ctx)
		once.Do(func() { _ = s.Close(ctx) }) // the host evicts idle sessions anyway
		return err
	}
	return in
}

// call asks for text to be returned in a session. It uses a connection of its own, which ends with
// the body of the answer. The connection has a small receive buffer, so that the host notices at
// once that the client reads little.
func (c Client) call(ctx context.Context, s *load.Session, text string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL,
		strings.NewReader(c.request("1", text, "")))
	if err != nil {
		return nil, err
	}
	r.Header = s.Headers()
	transport := &http.Transport{
		DisableKeepAlives: true, DisableCompression: true, DialContext: dialSmall,
	}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("http status %d", resp.StatusCode)
	}
	return resp, nil
}

// request returns a call of the tool as JSON. The text more holds further members of its params,
// each with a comma before it.
func (c Client) request(id, text, more string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":` + quote(c.Tool) +
		`,"arguments":{` + quote(c.Argument) + `:` + quote(text) + `}` + more + `}}`
}

// smallBuffer is the size of the kernel's receive buffer for a slow reader.
const smallBuffer = 4 << 10

func dialSmall(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(smallBuffer) // best effort: with a larger buffer the host notices later
	}
	return conn, err
}

// dial opens a bare TCP connection to the client's URL and returns the parsed URL too.
func (c Client) dial(ctx context.Context) (conn *net.TCPConn, u *url.URL, err error) {
	u, err = url.Parse(c.URL)
	if err != nil {
		return nil, nil, err
	}
	if u.Scheme != "http" {
		return nil, nil, fmt.Errorf("%s: only bare connections are slow enough", u.Scheme)
	}
	bare, err := dialSmall(ctx, "tcp", u.Host)
	if err != nil {
		return nil, nil, err
	}
	return bare.(*net.TCPConn), u, nil
}

func quote(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic("faults: no UTF-8: " + err.Error())
	}
	return string(b)
}
