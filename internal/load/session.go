package load

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// sessionRevision is what a Session proposes: the newest revision that has sessions.
const sessionRevision = "2025-11-25"

// modernRevision has no sessions, and modernMeta is what each of its requests says about its client.
const (
	modernRevision = "2026-07-28"
	modernMeta     = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + modernRevision + `","io.modelcontextprotocol/clientCapabilities":{}}`
)

// idleTime is how long a connection waits for its next call. A host gives up one on which no request has begun for DefaultHeaderTime, be it one that
// was opened and then not needed: a call that is sent just then would fail, and nobody but us would be to blame.
const idleTime = 2 * time.Second

// SessionOptions say where a Session connects and what it calls.
type SessionOptions struct {
	URL string
	// Key is sent as a bearer token; empty sends none.
	Key string
	// Tool is called with the nonce as its string argument Argument, and must answer with that nonce as its first text.
	Tool, Argument string
	// SameID makes every request carry the id 1, as pooled clients in the field do. Otherwise ids count from 1 in every session, so
	// that the sessions of one run share them too.
	SameID bool
	// Modern speaks 2026-07-28: there is no session then but the connections, and each request stands alone.
	Modern bool
	// Revision is what is proposed; empty is 2025-11-25, the newest that has sessions.
	Revision string
}

// Session is a Client of MCP over Streamable HTTP, 2025-03-26 to 2025-11-25, or of the revision after them, with connections of its own. It does no more than load
// needs: it opens no standalone stream and answers no request of the server.
type Session struct {
	options SessionOptions
	http    http.Client
	headers http.Header // of every request after the handshake
	ids     atomic.Uint64
}

var _ Client = (*Session)(nil)

// Connect opens a session: initialize, then notifications/initialized. Whoever gets it must Close it.
func Connect(ctx context.Context, o SessionOptions) (*Session, error) {
	s := &Session{options: o, http: http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: MaxWorkers, // never close what the next call needs again
		IdleConnTimeout:     idleTime,
		DisableCompression:  true,
	}}}
	s.headers = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	if o.Key != "" {
		s.headers.Set("Authorization", "Bearer "+o.Key)
	}
	if o.Modern {
		s.headers.Set("Mcp-Protocol-Version", modernRevision)
		return s, nil
	}
	if err := s.handshake(ctx); err != nil {
		s.abandon(ctx)
		return nil, fmt.Errorf("session with %s: %w", o.URL, err)
	}
	return s, nil
}

// abandon ends a session whose handshake failed, as far as the server has opened one.
func (s *Session) abandon(ctx context.Context) {
	if s.headers.Get("Mcp-Session-Id") == "" {
		s.http.CloseIdleConnections()
		return
	}
	_ = s.Close(context.WithoutCancel(ctx)) // what matters is why the handshake failed
}

func (s *Session) handshake(ctx context.Context) error {
	answer, header, err := s.request(ctx, "initialize", `{"protocolVersion":"`+cmp.Or(s.options.Revision, sessionRevision)+
		`","capabilities":{},"clientInfo":{"name":"mcpd-load","version":"1"}}`)
	if err != nil {
		return err
	}
	if answer.Error != nil {
		return answer.Error
	}
	s.headers.Set("Mcp-Protocol-Version", answer.Result.ProtocolVersion)
	if id := header.Get("Mcp-Session-Id"); id != "" {
		s.headers.Set("Mcp-Session-Id", id)
	}
	response, err := s.post(ctx, s.headers, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	if err != nil {
		return err
	}
	return discard(response)
}

// Headers are those of every request of the session, for whoever makes one by himself.
func (s *Session) Headers() http.Header { return s.headers.Clone() }

// Call implements Client. The nonce is the last word of the answer: some tools, such as echo of server-everything, say something before it.
func (s *Session) Call(ctx context.Context, nonce Nonce) (Nonce, error) {
	text, err := s.Ask(ctx, "tools/call", `{"name":`+quote(s.options.Tool)+`,"arguments":{`+quote(s.options.Argument)+`:`+quote(string(nonce))+`}}`)
	return Nonce(text[strings.LastIndexByte(text, ' ')+1:]), err
}

// Ask makes one request, whose params are JSON, and returns the first text of its result. Its errors are those of a Client.
func (s *Session) Ask(ctx context.Context, method, params string) (text string, err error) {
	answer, _, err := s.request(ctx, method, params)
	if err != nil && !errors.Is(err, ErrDuplicate) {
		return "", err
	}
	if answer.Error != nil {
		return "", answer.Error
	}
	if len(answer.Result.Content) > 0 {
		text = answer.Result.Content[0].Text
	}
	if answer.Result.IsError {
		return "", ToolError(text)
	}
	return text, err
}

// Listen opens the session's stream for what the server says by itself. Whoever gets it must close it.
func (s *Session) Listen(ctx context.Context) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.options.URL, nil)
	if err != nil {
		return nil, err
	}
	request.Header = s.headers
	response, err := s.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		_ = discard(response)
		return nil, fmt.Errorf("stream: http status %d", response.StatusCode)
	}
	return response.Body, nil
}

// Rest closes the connections that no call uses now. The next call opens another.
func (s *Session) Rest() { s.http.CloseIdleConnections() }

// A Close that is refused for its rate, or because the host cannot serve it now, is tried again after closePause, and in
// all for closeTime: a session that stays open would be taken for a leak of the host.
const (
	closePause = 100 * time.Millisecond
	closeTime  = 10 * time.Second
)

// Close ends the session with the server and closes the connections. It asks again where the server answers that it
// cannot do so now; any other answer does not matter.
func (s *Session) Close(ctx context.Context) error {
	defer s.http.CloseIdleConnections()
	if s.options.Modern {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodDelete, s.options.URL, nil)
		if err != nil {
			return err
		}
		request.Header = s.headers
		response, err := s.http.Do(request)
		if err != nil {
			return err
		}
		_ = discard(response)
		if response.StatusCode != http.StatusTooManyRequests && response.StatusCode < http.StatusInternalServerError {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(closePause):
		}
	}
}

// message is as much of a server's message as load looks at.
type message struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Result struct {
		ProtocolVersion string `json:"protocolVersion"`
		IsError         bool   `json:"isError"`
		Content         []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"result"`
	Error *CallError `json:"error"`
}

// request posts one request and reads its reply to the end: what comes after the answer matters, because it may be another one.
func (s *Session) request(ctx context.Context, method, params string) (answer message, _ http.Header, err error) {
	id := "1"
	if !s.options.SameID {
		id = strconv.FormatUint(s.ids.Add(1), 10)
	}
	headers := s.headers
	if s.options.Modern {
		headers, params = s.alone(method, params)
	}
	response, err := s.post(ctx, headers, []byte(`{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":`+params+`}`))
	if err != nil {
		return message{}, nil, err
	}
	defer response.Body.Close()
	answers := 0
	read := func(_ string, data []byte) error {
		if len(data) == 0 {
			return nil
		}
		var m message
		if err := json.Unmarshal(data, &m); err != nil {
			return fmt.Errorf("reply to %s: %w", method, err)
		}
		if m.Method != "" || string(m.ID) != id {
			return nil
		}
		if answers++; answers == 1 {
			answer = m
		}
		return nil
	}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		err = EachEvent(response.Body, read)
	} else {
		var body []byte
		if body, err = io.ReadAll(io.LimitReader(response.Body, maxReply)); err == nil {
			err = read("", body)
		}
	}
	switch {
	case answers > 1:
		return answer, response.Header, ErrDuplicate
	case answers == 1:
		return answer, response.Header, nil
	case err != nil:
		return message{}, nil, err
	}
	return message{}, nil, ErrNoReply
}

// alone makes a request one that stands alone: its params say who asks, and its header fields what for.
func (s *Session) alone(method, params string) (http.Header, string) {
	rest := strings.TrimPrefix(params, "{")
	if rest != "}" {
		rest = "," + rest
	}
	headers := s.headers.Clone()
	headers["Mcp-Method"] = []string{method}
	if method == "tools/call" {
		headers["Mcp-Name"] = []string{s.options.Tool}
	}
	return headers, "{" + modernMeta + rest
}

// post sends one message. A status other than 2xx is an error.
func (s *Session) post(ctx context.Context, headers http.Header, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.options.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = headers // only read: net/http clones what it must change
	response, err := s.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 != 2 {
		return nil, statusError(response)
	}
	return response, nil
}

// discard reads a short body to its end, so that the connection can be used again.
func discard(r *http.Response) error {
	_, err := io.Copy(io.Discard, io.LimitReader(r.Body, maxReply))
	return errors.Join(err, r.Body.Close())
}

// quote writes a JSON string. Bytes that are not UTF-8 come out replaced, which is all that AppendQuote's error says.
func quote(s string) string {
	b, _ := jsontext.AppendQuote(nil, s)
	return string(b)
}
