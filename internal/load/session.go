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

// sessionRevision is the revision that a Session proposes by default: the newest revision that has
// sessions.
const sessionRevision = "2025-11-25"

// modernRevision has no sessions. modernMeta is the client's description of itself in each request
// of that revision.
const (
	modernRevision = "2026-07-28"
	modernMeta     = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + modernRevision +
		`","io.modelcontextprotocol/clientCapabilities":{}}`
)

// idleTime is how long an idle connection is kept. A host closes a connection on which no request
// has begun for DefaultHeaderTime, including a connection that was opened and not needed. A call
// that is sent at that moment would fail because of this client.
const idleTime = 2 * time.Second

// SessionOptions say where a Session connects and what it calls.
type SessionOptions struct {
	URL string
	// Key is sent as a bearer token; empty sends none.
	Key string
	// Tool is called with the nonce as its string argument Argument, and must answer with that nonce
	// as its first text.
	Tool, Argument string
	// SameID makes every request carry the id 1, as some pooled clients do. Otherwise ids count from 1
	// in every session, so that the sessions of one run share ids too.
	SameID bool
	// Modern speaks 2026-07-28, which has no sessions: each request is stateless.
	Modern bool
	// Revision is the proposed revision; empty is 2025-11-25, the newest that has sessions.
	Revision string
}

// Session is a Client of MCP over Streamable HTTP, of the revisions 2025-03-26 to 2025-11-25 or of
// 2026-07-28, with its own connections. It does only what load needs: it opens no standalone stream
// and answers no request of the server.
type Session struct {
	options SessionOptions
	http    http.Client
	headers http.Header // of every request after the handshake
	ids     atomic.Uint64
}

var _ Client = (*Session)(nil)

// Connect opens a session: initialize, then notifications/initialized. The caller must Close it.
func Connect(ctx context.Context, o SessionOptions) (*Session, error) {
	s := &Session{options: o, http: http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: MaxWorkers, // never close a connection that the next call needs again
		IdleConnTimeout:     idleTime,
		DisableCompression:  true,
	}}}
	s.headers = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
	}
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

// abandon ends a session whose handshake failed, if the server has opened one.
func (s *Session) abandon(ctx context.Context) {
	if s.headers.Get("Mcp-Session-Id") == "" {
		s.http.CloseIdleConnections()
		return
	}
	_ = s.Close(context.WithoutCancel(ctx)) // the error of the handshake matters more
}

func (s *Session) handshake(ctx context.Context) error {
	answer, header, err := s.request(ctx, "initialize",
		`{"protocolVersion":"`+cmp.Or(s.options.Revision, sessionRevision)+
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
	response, err := s.post(ctx, s.headers,
		[]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	if err != nil {
		return err
	}
	return discard(response)
}

// Headers returns the headers of every request of the session, for callers that make requests of
// their own.
func (s *Session) Headers() http.Header { return s.headers.Clone() }

// Call implements Client. The nonce is the last word of the answer, because some tools, such as
// echo of server-everything, prefix it with a text.
func (s *Session) Call(ctx context.Context, nonce Nonce) (Nonce, error) {
	text, err := s.Ask(ctx, "tools/call",
		`{"name":`+quote(s.options.Tool)+`,"arguments":{`+quote(s.options.Argument)+`:`+
			quote(string(nonce))+`}}`)
	return Nonce(text[strings.LastIndexByte(text, ' ')+1:]), err
}

// Ask makes one request with params in JSON, and returns the first text of its result. Its errors
// are those of a Client.
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

// Listen opens the session's stream for messages that the server sends unasked. The caller must
// close it.
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

// CloseIdle closes idle connections. The next call opens another.
func (s *Session) CloseIdle() { s.http.CloseIdleConnections() }

// closePause is the wait before Close tries again, if it was rate-limited or the host cannot serve
// it now. closeTime bounds all attempts. A session that stays open would look like a leak of the
// host.
const (
	closePause = 100 * time.Millisecond
	closeTime  = 10 * time.Second
)

// Close ends the session with the server and closes the connections. It retries if the server says
// that it cannot end the session now. It ignores any other answer.
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
		if response.StatusCode != http.StatusTooManyRequests &&
			response.StatusCode < http.StatusInternalServerError {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(closePause):
		}
	}
}

// message has the fields of a server's message that this package uses.
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

// request posts one request and reads its response to the end. Data after the answer matters,
// because it may be another answer.
func (s *Session) request(ctx context.Context, method, params string) (answer message,
	_ http.Header, err error) {
	id := "1"
	if !s.options.SameID {
		id = strconv.FormatUint(s.ids.Add(1), 10)
	}
	headers := s.headers
	if s.options.Modern {
		headers, params = s.stateless(method, params)
	}
	response, err := s.post(ctx, headers,
		[]byte(`{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":`+params+`}`))
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

// stateless makes a request of revision 2026-07-28, which is stateless: its params describe the
// client, and its header fields the method and the tool.
func (s *Session) stateless(method, params string) (http.Header, string) {
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
func (s *Session) post(ctx context.Context, headers http.Header,
	body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.options.URL,
		bytes.NewReader(body))
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

// discard reads a short body to its end, so that the connection can be reused.
func discard(r *http.Response) error {
	_, err := io.Copy(io.Discard, io.LimitReader(r.Body, maxReply))
	return errors.Join(err, r.Body.Close())
}

// quote returns a JSON string. Bytes that are not UTF-8 are replaced; AppendQuote's error reports
// nothing else.
func quote(s string) string {
	b, _ := jsontext.AppendQuote(nil, s)
	return string(b)
}
