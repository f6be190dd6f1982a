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

// Client is where a tenant's clients connect.
type Client struct {
	URL string // of Streamable HTTP
	Key string // a bearer token; empty sends none
	// Tool takes a text in Argument and gives it back.
	Tool, Argument string
}

// session opens one of the tenant. It leaves nothing behind when it is closed.
func (c Client) session(ctx context.Context) (*load.Session, error) { return c.sessionOf(ctx, "") }

// sessionOf opens one of a revision.
func (c Client) sessionOf(ctx context.Context, revision string) (*load.Session, error) {
	return load.Connect(ctx, load.SessionOptions{URL: c.URL, Key: c.Key, Tool: c.Tool, Argument: c.Argument, SameID: true, Revision: revision})
}

// inSession has a fault end its session after itself.
func inSession(s *load.Session, in Injected) Injected {
	heal := in.Heal
	var once sync.Once
	in.Heal = func(ctx context.Context) error {
		err := heal(ctx)
		once.Do(func() { _ = s.Close(ctx) }) // the host forgets a session that is idle
		return err
	}
	return in
}

// call asks for text to be given back in a session, over a connection that nobody else uses and that ends with the answer's body. The host is
// told at once that little is read: the connection's buffer is small.
func (c Client) call(ctx context.Context, s *load.Session, text string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, strings.NewReader(c.request("1", text, "")))
	if err != nil {
		return nil, err
	}
	r.Header = s.Headers()
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true, DialContext: dialSmall}
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

// request is a call of the tool as JSON. More are members of its params, each with a comma before it.
func (c Client) request(id, text, more string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":` + quote(c.Tool) + `,"arguments":{` + quote(c.Argument) + `:` + quote(text) + `}` + more + `}}`
}

// smallBuffer is what a slow reader lets the kernel take in for it.
const smallBuffer = 4 << 10

func dialSmall(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(smallBuffer) // without it the host notices later
	}
	return conn, err
}

// dial is a bare connection to where the client calls, with the address and path of the request.
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
