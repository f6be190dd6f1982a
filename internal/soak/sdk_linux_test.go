package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// openTime bounds the handshake of a client. The handshake waits for no server.
const openTime = 20 * time.Second

// reply is the outcome of a request, as an SDK reports it.
type reply struct {
	Text     string     `json:"text"`
	Error    *callError `json:"error"`
	Broken   string     `json:"broken"`
	TimedOut bool       `json:"late"`
}

// sdk opens sessions of one official client. Each request carries the key, which may be empty.
type sdk interface {
	open(url, key string) (session, reply)
}

// session is a session of an official client.
type session interface {
	call(tool string, arguments map[string]any) reply
	close()
}

// goSDK is the official Go client. Each session has its own connections.
type goSDK struct{}

type goSession struct {
	*mcp.ClientSession
	seen *errorTransport
}

func (goSDK) open(url, key string) (session, reply) {
	s := &goSession{seen: &errorTransport{key: key}}
	ctx, cancel := context.WithTimeout(context.Background(), openTime)
	defer cancel()
	opened, err := mcp.NewClient(&mcp.Implementation{Name: "soak", Version: "1"}, nil).Connect(ctx,
		&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: s.seen}}, nil)
	if err != nil {
		s.seen.CloseIdleConnections()
		return nil, s.failed(err)
	}
	s.ClientSession = opened
	return s, reply{}
}

func (s *goSession) call(tool string, arguments map[string]any) reply {
	ctx, cancel := context.WithTimeout(context.Background(), callTime())
	defer cancel()
	s.seen.takeError()
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return s.failed(err)
	}
	var text []string
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			text = append(text, t.Text)
		}
	}
	return reply{Text: strings.Join(text, "\n")}
}

func (s *goSession) close() {
	_ = s.Close() // the host may be gone
	s.seen.CloseIdleConnections()
}

// rejectedBySDK is the message of errors that the Go SDK itself makes in the form of a JSON-RPC
// error.
const rejectedBySDK = "rejected by transport"

// failed converts an error of the SDK to a reply.
func (s *goSession) failed(err error) reply {
	var wire *jsonrpc.Error
	if body := s.seen.takeError(); body != nil || errors.As(err, &wire) {
		if wire == nil || body != nil {
			return reply{Error: body}
		}
		if wire.Data == nil && wire.Message == rejectedBySDK {
			return reply{Broken: err.Error()}
		}
		a := &callError{Code: wire.Code, Message: wire.Message}
		_ = json.Unmarshal(wire.Data, &a.Data) // data of another form is ignored
		return reply{Error: a}
	}
	return reply{Broken: err.Error(), TimedOut: errors.Is(err, context.DeadlineExceeded)}
}

// errorTransport keeps the JSON-RPC error of the last failed response, which the SDK drops for some
// statuses. It also sends the key with each request.
type errorTransport struct {
	http.Transport
	key  string
	mu   sync.Mutex
	last *callError
}

func (b *errorTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.key != "" {
		r = r.Clone(r.Context()) // the SDK owns the request
		r.Header.Set("Authorization", "Bearer "+b.key)
	}
	response, err := b.Transport.RoundTrip(r)
	if err != nil || response.StatusCode < 400 || r.Method != http.MethodPost {
		return response, err
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return nil, errors.Join(err, response.Body.Close())
	}
	response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(text))
	var m struct{ Error *callError }
	if json.Unmarshal(text, &m) == nil && m.Error != nil {
		b.mu.Lock()
		b.last = m.Error
		b.mu.Unlock()
	}
	return response, nil
}

func (b *errorTransport) takeError() *callError {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := b.last
	b.last = nil
	return last
}

// nodeSDK is an official TypeScript client. One Node process has all its sessions.
type nodeSDK struct {
	mu      sync.Mutex
	in      io.Writer
	waiting map[int]chan reply
	last    int
}

// ask sends a request and waits for its outcome.
func (n *nodeSDK) ask(request map[string]any, within time.Duration) reply {
	came := make(chan reply, 1)
	n.mu.Lock()
	n.last++
	id := n.last
	n.waiting[id] = came
	request["id"], request["timeout"] = id, within.Milliseconds()
	line, err := json.Marshal(request)
	if err == nil {
		_, err = n.in.Write(append(line, '\n'))
	}
	n.mu.Unlock()
	if err != nil {
		return reply{Broken: "soak: " + err.Error()}
	}
	select {
	case r := <-came:
		return r
	case <-time.After(within + 20*time.Second):
		return reply{
			Broken:   fmt.Sprintf("soak: the SDK has no outcome %v after its deadline", 20*time.Second),
			TimedOut: true,
		}
	}
}

// read delivers outcomes to the requests that wait, until the process has ended.
func (n *nodeSDK) read(out io.Reader) {
	for lines := json.NewDecoder(out); ; {
		var r struct {
			ID int `json:"id"`
			reply
		}
		if lines.Decode(&r) != nil {
			return
		}
		n.mu.Lock()
		came := n.waiting[r.ID]
		delete(n.waiting, r.ID)
		n.mu.Unlock()
		if came != nil {
			came <- r.reply
		}
	}
}

type nodeSession struct {
	sdk *nodeSDK
	id  string
}

func (n *nodeSDK) open(url, key string) (session, reply) {
	n.mu.Lock()
	n.last++
	s := nodeSession{n, fmt.Sprint(n.last)}
	n.mu.Unlock()
	open := map[string]any{"do": "open", "session": s.id, "url": url}
	if key != "" {
		open["headers"] = map[string]string{"Authorization": "Bearer " + key}
	}
	if r := n.ask(open, openTime); r.Broken != "" {
		return nil, r
	}
	return s, reply{}
}

func (s nodeSession) call(tool string, arguments map[string]any) reply {
	return s.sdk.ask(map[string]any{"do": "call", "session": s.id,
		"params": map[string]any{"name": tool, "arguments": arguments}}, callTime())
}

func (s nodeSession) close() {
	s.sdk.ask(map[string]any{"do": "close", "session": s.id}, openTime)
}
