package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// site is a server behind a URL together with a client.
type site struct {
	t       *testing.T
	url     string
	session string
}

func listen(t *testing.T) *site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	end := make(chan error, 1)
	go func() { end <- ServeHTTP(ctx, HTTPOptions{Listener: l}) }()
	t.Cleanup(func() {
		stop()
		if err := <-end; err != nil {
			t.Error(err)
		}
	})
	s := &site{t: t, url: "http://" + l.Addr().String() + Endpoint}
	resp := s.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
	if s.session = resp.header.Get("Mcp-Session-Id"); resp.status != 200 || s.session == "" {
		t.Fatal(resp)
	}
	return s
}

// answer is a response that was read to its end.
type answer struct {
	status int
	header http.Header
	body   string
	err    error
}

func (s *site) do(method, body string) answer {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, s.url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if s.session != "" {
		r.Header.Set("Mcp-Session-Id", s.session)
	}
	over := &http.Transport{DisableKeepAlives: true}
	resp, err := over.RoundTrip(r)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(text), err}
}

func (s *site) post(body string) answer { s.t.Helper(); return s.do("POST", body) }

func (s *site) call(tool, args string) answer {
	s.t.Helper()
	return s.post(
		fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q,"arguments":%s}}`,
			tool, args),
	)
}

// Requests have a session, or are stateless in the later revision.
func TestServerBehindAURL(t *testing.T) {
	s := listen(t)
	if a := s.call("echo", `{"message":"hello"}`); a.status != 200 ||
		!strings.Contains(a.body, `"text":"hello"`) ||
		a.header.Get("Content-Type") != "application/json" {
		t.Error(a)
	}
	if a := s.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); a.status != 202 {
		t.Error(a)
	}
	if a := s.post(`{`); a.status != 400 {
		t.Error(a)
	}
	alone := &site{t: t, url: s.url}
	if a := alone.call("echo", `{}`); a.status != 400 {
		t.Error(a)
	}
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	if a := alone.post(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta +
		`}}`); !strings.Contains(a.body, `"supportedVersions":["2026-07-28"]`) {
		t.Error(a)
	}
	if a := alone.post(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"alone"},` + meta + `}}`,
	); !strings.Contains(a.body, `"text":"alone"`) ||
		!strings.Contains(a.body, `"resultType":"complete"`) {
		t.Error(a)
	}
	if a := s.do("DELETE", ""); a.status != 200 {
		t.Error(a)
	}
	if a := s.call("echo", `{}`); a.status != 404 {
		t.Error(a)
	}
}

// Messages that are not answers are sent on the standing stream.
func TestServerBehindAURLSpeaksByItself(t *testing.T) {
	s := listen(t)
	r, _ := http.NewRequestWithContext(t.Context(), "GET", s.url, nil)
	r.Header.Set("Mcp-Session-Id", s.session)
	over := &http.Transport{}
	defer over.CloseIdleConnections()
	resp, err := over.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	s.call("misbehave", `{"fault":"storm","for":"1m","delay":"1ms"}`)
	const want = `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n\n"
	got := make([]byte, 2*len(want))
	if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want+want {
		t.Errorf("%q, %v", got, err)
	}
}

// A server behind a URL has the misbehaviours of HTTP, and all others that need no process.
func TestServerBehindAURLMisbehaves(t *testing.T) {
	for _, r := range []struct {
		fault, more string
		status      int
		want        string // a substring of the header and the body
	}{
		{"http_status", `,"code":502`, 502, "it does not work"},
		{"http_busy", `,"delay":"1500ms"`, 429, "Retry-After:[2]"},
		{"http_cut", "", 200, ": soon\n\n"},
		{"http_framing", "", 200, "\r\revent: message\r"},
		{"http_type", "", 200, "text/html"},
		{"http_redirect", "", 307, "127.0.0.1:1/mcp"},
		{"http_slow_body", `,"delay":"10us"`, 200, `"text":"hello"`},
		{"http_slow_header", `,"delay":"10us"`, 200, `"text":"hello"`},
		{"http_forget", "", 404, "no such session"},
		{"twice", "", 200, "text/event-stream"},
		{"slow", `,"delay":"10us"`, 200, `"text":"hello"`},
		{"malformed", "", 200, `data: {"jsonrpc"`},
	} {
		t.Run(r.fault, func(t *testing.T) {
			s := listen(t)
			m, _ := find(r.fault)
			if a := s.call("misbehave",
				fmt.Sprintf(`{"fault":%q,"for":"1m"%s}`, r.fault, r.more)); !strings.Contains(a.body,
				m.Description) {
				t.Fatal(a)
			}
			var a answer
			// the fault may begin a moment after the answer to misbehave
			for end := time.Now().Add(time.Minute); a.status != r.status && time.Now().Before(end); {
				a = s.call("echo", `{"message":"hello"}`)
			}
			if a.status != r.status || !strings.Contains(fmt.Sprint(a.header)+a.body, r.want) {
				t.Errorf("%+v", a)
			}
		})
	}
	s := listen(t)
	s.call("misbehave", `{"fault":"http_reset","for":"1m"}`)
	if a := s.call("echo", `{}`); !errors.Is(a.err, syscall.ECONNRESET) && !errors.Is(a.err, io.EOF) {
		t.Errorf("%+v", a)
	}
	if a := s.call("misbehave", `{"fault":"exit","for":"1m"}`); !strings.Contains(a.body,
		`"isError":true`) {
		t.Errorf("%+v", a)
	}
}

// Endless streams end when the server behaves again.
func TestStreamWithoutEnd(t *testing.T) {
	s := listen(t)
	s.call("misbehave", `{"fault":"http_endless","for":"1m"}`)
	ended := make(chan answer, 1)
	go func() { ended <- s.call("echo", `{}`) }()
	select {
	case a := <-ended:
		t.Errorf("%+v", a)
	case <-time.After(3 * between):
	}
	s.call("misbehave", `{"fault":"none"}`)
	if a := <-ended; !strings.HasPrefix(a.body, ": soon\n\n") || strings.Contains(a.body, "data") {
		t.Errorf("%+v", a)
	}
}

// From its next session on, a server behind a URL that became another one has no handshake.
func TestServerBehindAURLIsAnother(t *testing.T) {
	s := listen(t)
	s.call("misbehave", `{"fault":"another","for":"1m"}`)
	if a := s.post(
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
	); !strings.Contains(a.body, `"supported":["2026-07-28"]`) {
		t.Errorf("%+v", a)
	}
}
