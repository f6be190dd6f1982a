package endings

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// goSession opens a session with a client of the Go SDK.
func (o *opener) goSession(k kind) (session, error) {
	o.t.Helper()
	var transport mcp.Transport
	switch k.over {
	case overHTTP:
		transport = &mcp.StreamableClientTransport{
			Endpoint: o.url + "/mcp", HTTPClient: o.httpClient(), MaxRetries: 20,
		}
	case overSSE:
		transport = &mcp.SSEClientTransport{Endpoint: o.url + "/sse", HTTPClient: o.httpClient()}
	default:
		transport = &mcp.CommandTransport{Command: o.bridge()}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "endings", Version: "1"},
		&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	s, err := client.Connect(context.WithoutCancel(o.t.Context()), transport,
		&mcp.ClientSessionOptions{ProtocolVersion: k.revision})
	if err != nil {
		return nil, err
	}
	if got := s.InitializeResult().ProtocolVersion; got != k.revision {
		return nil, fmt.Errorf("revision %s, want %s", got, k.revision)
	}
	return goSession{s, k.callTime()}, nil
}

// httpClient returns an HTTP client with its own connections, like that of a separate program.
func (o *opener) httpClient() *http.Client {
	o.t.Helper()
	connections := &http.Transport{}
	if o.ca != "" {
		pem, err := os.ReadFile(o.ca)
		if err != nil {
			o.t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(pem)
		connections.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	o.t.Cleanup(connections.CloseIdleConnections)
	return &http.Client{Transport: requireRetryAfter{connections}}
}

// requireRetryAfter turns a 503 or 408 answer without Retry-After into an error.
type requireRetryAfter struct{ http.RoundTripper }

func (c requireRetryAfter) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.RoundTripper.RoundTrip(r)
	stopping := err == nil &&
		(answer.StatusCode == http.StatusServiceUnavailable ||
			answer.StatusCode == http.StatusRequestTimeout)
	if !stopping || answer.Header.Get("Retry-After") != "" {
		return answer, err
	}
	_ = answer.Body.Close()
	return nil, fmt.Errorf("%s without Retry-After", answer.Status)
}

type goSession struct {
	*mcp.ClientSession
	within time.Duration // limit of a call
}

func (s goSession) call(tool string, arguments map[string]any) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.within)
	defer cancel()
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return "", err
	}
	text := r.Content[0].(*mcp.TextContent).Text
	if r.IsError {
		return "", fmt.Errorf("the result is an error: %s", text)
	}
	return text, nil
}

func (s goSession) close() {
	ended := make(chan struct{})
	go func() { // ends with the session, which has its own limits
		defer close(ended)
		_ = s.Close()
	}()
	select {
	case <-ended:
	case <-time.After(closeTime):
	}
}

// closeTime is how long a test waits for the end of a session.
const closeTime = 10 * time.Second
