package interop

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/headers"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/splice"
	"mcpd/transport/streamable"
)

// declared is what a client of the matrix declares, in its revision's words.
const declared = `{"roots":{},"sampling":{},"elicitation":{}}`

// compat is a client of one revision, no more than the revision asks for: a session with a standing stream, or requests that stand alone.
type compat struct {
	t       *testing.T
	url     string
	version protocol.Version
	session string
	carrier *http.Transport

	mu    sync.Mutex // guards what follows
	next  uint64
	heard []jsonrpc.Message // what came on the standing stream, or on listens
}

// compatible makes a client and, where its revision has that, its session.
func compatible(t *testing.T, url string, v protocol.Version) *compat {
	t.Helper()
	c := &compat{t: t, url: url, version: v, carrier: &http.Transport{DisableCompression: true}}
	t.Cleanup(c.carrier.CloseIdleConnections)
	if !v.Has(protocol.Initialize) {
		return c
	}
	answer, header := c.exchange("initialize",
		`{"protocolVersion":"`+v.String()+`","capabilities":`+declared+`,"clientInfo":{"name":"compat","version":"1"}}`, nil)
	if got, _ := splice.GetString(answer.Result, "protocolVersion"); got != v.String() {
		t.Fatalf("initialize: %s", answer.Append(nil))
	}
	c.session = header.Get("Mcp-Session-Id")
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.stand()
	return c
}

// stand reads the standing stream until the test ends.
func (c *compat) stand() {
	ctx, cancel := context.WithCancel(context.Background())
	open := make(chan struct{})
	done := make(chan struct{})
	go func() { // owner: the cleanup waits for it
		defer close(done)
		r := c.request(ctx, http.MethodGet, "", nil)
		response, err := c.carrier.RoundTrip(r)
		close(open)
		if err != nil {
			return
		}
		defer response.Body.Close()
		c.read(response.Body, func(m jsonrpc.Message) bool { c.keep(m); return false })
	}()
	c.t.Cleanup(func() { cancel(); <-done })
	<-open
}

func (c *compat) keep(m jsonrpc.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = append(c.heard, m)
}

// told reports whether a notification of that method came, within a time in which anything local would have.
func (c *compat) told(method string) bool {
	for range 100 {
		c.mu.Lock()
		for _, m := range c.heard {
			if m.Method == method {
				c.mu.Unlock()
				return true
			}
		}
		c.mu.Unlock()
		time.Sleep(30 * time.Millisecond)
	}
	return false
}

func (c *compat) request(ctx context.Context, method, body string, m *jsonrpc.Message) *http.Request {
	r, err := http.NewRequestWithContext(ctx, method, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	if c.version.Has(protocol.VersionHeader) && (c.session != "" || c.version.Has(protocol.PerRequestMeta)) {
		r.Header.Set("Mcp-Protocol-Version", c.version.String())
	}
	if m != nil && c.version.Has(protocol.RoutingHeaders) {
		fields, err := headers.Request{Method: m.Method, Params: m.Params}.Fields()
		if err != nil {
			c.t.Fatal(err)
		}
		for _, f := range fields {
			r.Header.Set(f.Name, f.Value)
		}
	}
	return r
}

// send posts what has no answer.
func (c *compat) send(body string) {
	response, err := c.carrier.RoundTrip(c.request(c.t.Context(), http.MethodPost, body, nil))
	if err != nil {
		c.t.Error(err)
		return
	}
	response.Body.Close()
}

// exchange sends one request and returns its answer. What comes before it is handed to during.
func (c *compat) exchange(method, params string, during func(jsonrpc.Message)) (jsonrpc.Message, http.Header) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 20*time.Second)
	defer cancel()
	m := c.message(method, params)
	response, err := c.carrier.RoundTrip(c.request(ctx, http.MethodPost, string(m.Append(nil)), &m))
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	defer response.Body.Close()
	var answer jsonrpc.Message
	take := func(got jsonrpc.Message) bool {
		if got.Method == "" && got.ID == m.ID {
			answer = got
			return true
		}
		if during != nil {
			during(got)
		}
		return false
	}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		c.read(response.Body, take)
	} else {
		body, _ := io.ReadAll(response.Body)
		got, err := jsonrpc.Decode(body, jsonrpc.Limits{})
		if err != nil {
			c.t.Fatalf("%s: %d %s", method, response.StatusCode, body)
		}
		take(got)
	}
	return answer, response.Header
}

// message is a request under a fresh id, with what its revision wants it to say of itself.
func (c *compat) message(method, params string) jsonrpc.Message {
	c.mu.Lock()
	c.next++
	id := jsonrpc.IntID(c.next)
	c.mu.Unlock()
	raw := jsontext.Value(params)
	if c.version.Has(protocol.PerRequestMeta) {
		caps, _ := protocol.ParseClientCapabilities(jsontext.Value(declared))
		raw = protocol.Meta{Version: c.version.String(), Capabilities: caps, LogLevel: "info"}.Set(raw)
	}
	return jsonrpc.Request(id, method, raw)
}

// read hands on the messages of a stream until one is the last.
func (c *compat) read(body io.Reader, last func(jsonrpc.Message) bool) {
	events := streamable.NewReader(body, streamable.ReaderLimits{})
	for {
		e, err := events.Next()
		if err != nil {
			return
		}
		if len(bytes.TrimSpace(e.Data)) == 0 {
			continue
		}
		m, err := jsonrpc.Decode(e.Data, jsonrpc.Limits{})
		if err != nil {
			c.t.Errorf("event %s: %v", e.Data, err)
			return
		}
		if last(m) {
			return
		}
	}
}

// answers are what the user and the model of the client say to everything.
var answers = map[string]string{
	"elicitation/create":     `{"action":"accept","content":{"username":"ann","email":"a@b.c"}}`,
	"sampling/createMessage": `{"role":"assistant","content":{"type":"text","text":"forty-two"},"model":"m"}`,
	"roots/list":             `{"roots":[{"uri":"file:///home","name":"home"}]}`,
}

// call calls a tool and answers what is asked meanwhile, in the way of the revision. It returns the result and what was heard.
func (c *compat) call(tool, arguments string) (jsonrpc.Message, []jsonrpc.Message) {
	c.t.Helper()
	params := jsontext.Value(`{"name":"` + tool + `","arguments":` + arguments + `,"_meta":{"progressToken":"p"}}`)
	var heard []jsonrpc.Message
	during := func(m jsonrpc.Message) {
		heard = append(heard, m)
		if answer, ok := answers[m.Method]; ok {
			c.send(string(jsonrpc.Response(m.ID, jsontext.Value(answer)).Append(nil)))
		}
	}
	for range 5 {
		answer, _ := c.exchange("tools/call", string(params), during)
		if mrtr.TypeOf(answer.Result) != mrtr.InputRequired {
			return answer, heard
		}
		required, err := mrtr.Parse(answer.Result)
		if err != nil {
			c.t.Fatal(err)
		}
		retry := mrtr.Retry{State: required.State}
		for _, in := range required.Inputs {
			retry.Responses = append(retry.Responses, mrtr.Response{Key: in.Key, Value: jsontext.Value(answers[in.Method])})
		}
		params = retry.Set(params)
	}
	c.t.Fatalf("%s: asked without end", tool)
	return jsonrpc.Message{}, nil
}

// listen subscribes to the changes of tools, and of a resource, in the way of the revision.
func (c *compat) listen(uri string) {
	c.t.Helper()
	if c.version.Has(protocol.Initialize) {
		if answer, _ := c.exchange("resources/subscribe", `{"uri":"`+uri+`"}`, nil); answer.Error != nil {
			c.t.Errorf("subscribe: %v", answer.Error)
		}
		return
	}
	m := c.message("subscriptions/listen", `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["`+uri+`"]}}`)
	ctx, cancel := context.WithCancel(context.Background())
	acknowledged, done := make(chan struct{}), make(chan struct{})
	go func() { // owner: the cleanup waits for it
		defer close(done)
		response, err := c.carrier.RoundTrip(c.request(ctx, http.MethodPost, string(m.Append(nil)), &m))
		if err != nil {
			return
		}
		defer response.Body.Close()
		c.read(response.Body, func(got jsonrpc.Message) bool {
			if got.Method == "notifications/subscriptions/acknowledged" {
				close(acknowledged)
			}
			c.keep(got)
			return false
		})
	}()
	c.t.Cleanup(func() { cancel(); <-done })
	select {
	case <-acknowledged:
	case <-time.After(10 * time.Second):
		c.t.Error("listen is not acknowledged")
	}
}
