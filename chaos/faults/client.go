package faults

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Client is where a tenant's clients connect.
type Client struct {
	URL string // of Streamable HTTP
	Key string // a bearer token; empty sends none
	// Tool takes a text in Argument and gives it back.
	Tool, Argument string
}

// standalone is the revision in which a call needs no session.
const standalone = "2026-07-28"

// call asks for text to be given back, over a connection that nobody else uses and that ends with the answer's body. The host is told at once
// that little is read: the connection's buffer is small.
func (c Client) call(ctx context.Context, text string) (*http.Response, error) {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":` + quote(c.Tool) + `,"arguments":{` + quote(c.Argument) + `:` + quote(text) +
		`},"_meta":{"io.modelcontextprotocol/protocolVersion":"` + standalone + `","io.modelcontextprotocol/clientCapabilities":{}}}}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {standalone}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {c.Tool},
	}
	if c.Key != "" {
		r.Header.Set("Authorization", "Bearer "+c.Key)
	}
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
func (c Client) dial(ctx context.Context) (conn io.ReadWriteCloser, u *url.URL, err error) {
	u, err = url.Parse(c.URL)
	if err != nil {
		return nil, nil, err
	}
	if u.Scheme != "http" {
		return nil, nil, fmt.Errorf("%s: only bare connections are slow enough", u.Scheme)
	}
	conn, err = dialSmall(ctx, "tcp", u.Host)
	return conn, u, err
}

func quote(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic("faults: no UTF-8: " + err.Error())
	}
	return string(b)
}
