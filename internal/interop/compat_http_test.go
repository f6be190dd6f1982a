package interop

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/headers"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport/streamable"
)

// overHTTP carries messages over Streamable HTTP.
type overHTTP struct {
	t       *testing.T
	url     string
	version protocol.Version
	session string
	carrier *http.Transport
}

func dialHTTP(t *testing.T, url string, v protocol.Version) messageCarrier {
	h := &overHTTP{
		t: t, url: url + "/mcp", version: v, carrier: &http.Transport{DisableCompression: true},
	}
	t.Cleanup(h.carrier.CloseIdleConnections)
	return h
}

// do makes an HTTP request with the headers that the revision requires.
func (h *overHTTP) do(ctx context.Context, method string,
	m jsonrpc.Message) (*http.Response, error) {
	var body []byte
	if method == http.MethodPost {
		body = m.Append(nil)
	}
	r, err := http.NewRequestWithContext(ctx, method, h.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if h.session != "" {
		r.Header.Set("Mcp-Session-Id", h.session)
	}
	if h.version.Has(protocol.VersionHeader) &&
		(h.session != "" || h.version.Has(protocol.PerRequestMeta)) {
		r.Header.Set("Mcp-Protocol-Version", h.version.String())
	}
	if m.Method != "" && h.version.Has(protocol.RoutingHeaders) {
		fields, err := headers.Request{Method: m.Method, Params: m.Params}.Fields()
		if err != nil {
			return nil, err
		}
		for _, f := range fields {
			r.Header.Set(f.Name, f.Value)
		}
	}
	return h.carrier.RoundTrip(r)
}

func (h *overHTTP) exchange(ctx context.Context, m jsonrpc.Message,
	take func(jsonrpc.Message) bool) error {
	response, err := h.do(ctx, http.MethodPost, m)
	if err == nil {
		defer response.Body.Close()
		if m.Method == "initialize" {
			h.session = response.Header.Get("Mcp-Session-Id")
		}
		err = messages(response, take)
	}
	// In the modern era the end of the stream cancels the request.
	if ctx.Err() != nil && h.version.Has(protocol.Initialize) {
		return h.send(cancelled(m))
	}
	return err
}

// cancelled returns the notification that cancels a request, for transports on which the end of a
// stream does not cancel it.
func cancelled(m jsonrpc.Message) jsonrpc.Message {
	return jsonrpc.Notification("notifications/cancelled",
		jsontext.Value(`{"requestId":`+m.ID.Raw()+`}`))
}

// messages passes the messages of a response to last, until last returns true.
func messages(response *http.Response, last func(jsonrpc.Message) bool) error {
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		m, err := jsonrpc.Decode(body, jsonrpc.Limits{})
		if err != nil {
			return fmt.Errorf("%d %s", response.StatusCode, body)
		}
		last(m)
		return nil
	}
	events := streamable.NewReader(response.Body, streamable.ReaderLimits{})
	for {
		e, err := events.Next()
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(e.Data)) == 0 {
			continue
		}
		m, err := jsonrpc.Decode(e.Data, jsonrpc.Limits{})
		if err != nil {
			return fmt.Errorf("event %s: %w", e.Data, err)
		}
		if last(m) {
			return nil
		}
	}
}

func (h *overHTTP) send(m jsonrpc.Message) error {
	response, err := h.do(context.Background(), http.MethodPost, m)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusAccepted {
		text, _ := io.ReadAll(response.Body)
		return fmt.Errorf("%d %s", response.StatusCode, text)
	}
	return nil
}

// opened reads the standalone stream until the test ends.
func (h *overHTTP) opened(keep func(jsonrpc.Message)) error {
	if !h.version.Has(protocol.Initialize) {
		return nil
	}
	if err := h.send(jsonrpc.Notification("notifications/initialized", nil)); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	response, err := h.do(ctx, http.MethodGet, jsonrpc.Message{})
	if err != nil {
		cancel()
		return err
	}
	done := make(chan struct{})
	go func() { // owner: the cleanup, which waits for this goroutine
		defer close(done)
		defer response.Body.Close()
		// ends with the context
		_ = messages(response, func(m jsonrpc.Message) bool { keep(m); return false })
	}()
	h.t.Cleanup(func() { cancel(); <-done })
	return nil
}
