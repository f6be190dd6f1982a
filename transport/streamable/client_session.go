package streamable

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"mcpd/protocol/jsonrpc"
)

// Leave makes Close end the connection but not the session, so that another Client can continue the
// session with Take or Resume. It returns the id of the session. If there is no session that can
// outlive its connection, it returns "" and changes nothing.
func (c *Client) Leave() (session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.knownSSE || c.inbox.Load() != nil || c.closing || c.lost != nil || c.isOver() {
		return ""
	}
	c.left = c.session != ""
	return c.session
}

// Take continues a session that another Client has left. The caller has to set the revision with
// Negotiated.
func (c *Client) Take(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = session
}

// Resume is like Take, but also opens the standalone stream, as notifications/initialized does.
// Later messages wait for that stream in the same way. Recv returns ErrSessionLost if the server no
// longer knows the session.
func (c *Client) Resume(session string) {
	opened := make(chan struct{})
	c.mu.Lock()
	c.session, c.gate = session, opened
	c.mu.Unlock()
	c.open(opened, true)
}

// delete ends the session. Its answer is ignored, because the client closes anyway.
func (c *Client) delete(ctx context.Context, session string) {
	ctx, cancel := context.WithTimeout(ctx, farewellTime)
	defer cancel()
	if resp, _, err := c.do(ctx, http.MethodDelete, session, nil, nil); err == nil {
		discard(resp)
	}
}

// current returns the session id, or "" before there is one.
func (c *Client) current() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// adopt stores the session id of the answer to initialize.
func (c *Client) adopt(h http.Header) error {
	// The specification requires visible ASCII. Other ids are accepted and sent back as well. ""
	// means no session.
	id := h.Get("Mcp-Session-Id")
	if !sendable(id) {
		return fmt.Errorf("the session id of %d bytes is too long or contains control characters",
			len(id))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = id
	return nil
}

// sendable reports whether a session id can be sent back.
func sendable(id string) bool {
	control := func(r rune) bool { return r < ' ' || r == 0x7f }
	return len(id) <= maxGivenSession && !strings.ContainsFunc(id, control)
}

// replaceSession stores the session id of a later response to a POST, as the TypeScript SDK does,
// because some servers replace their session ids. It ignores a response that repeats the id that
// was sent: another response may have replaced that id in the meantime. Revisions without sessions
// have no ids.
func (c *Client) replaceSession(h http.Header, sent string) {
	id := h.Get("Mcp-Session-Id")
	if id == "" || id == sent || c.version.Load() == 0 || c.stateless() || !sendable(id) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing || c.session == id {
		return
	}
	c.session = id
	if c.sessionReplaced != nil {
		close(c.sessionReplaced)
	}
	c.sessionReplaced = make(chan struct{})
}

// MaxStale is how often a request is repeated because its session id was replaced while it was in
// flight.
const MaxStale = 8

// replaceTime is how long to wait for the response with a new session id after another request was
// refused with the old one.
const replaceTime = 250 * time.Millisecond

// replaced reports whether a response with this status may mean that the session id that was sent
// has been replaced in the meantime. The request of the response was not executed. For a server
// that replaces its ids, replaced waits a moment for the response with the next id.
func (c *Client) replaced(ctx context.Context, status int, sent string) bool {
	if sent == "" || status != http.StatusNotFound && status != http.StatusBadRequest {
		return false
	}
	c.mu.Lock()
	now, next := c.session, c.sessionReplaced
	c.mu.Unlock()
	if now != sent || next == nil {
		return now != sent
	}
	timer := time.NewTimer(replaceTime)
	defer timer.Stop()
	select {
	case <-next:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// sessionProbes lists the methods with which the client tests if a server knows the session. Each
// server with any feature answers one of them, and some do not answer ping.
var sessionProbes = [...]string{"ping", "tools/list", "resources/list", "prompts/list"}

// sessionLost reports whether a response means that the session is lost. A 404 that mentions the
// session means so. Any other 404 or a 400 may concern only the request, such as an unknown path or
// method: the session is lost only if the server answers all harmless requests in this way too. The
// result is false if the session id was replaced in the meantime.
func (c *Client) sessionLost(ctx context.Context, status int, body []byte, session string) bool {
	if session == "" || status != http.StatusNotFound && status != http.StatusBadRequest {
		return false
	}
	if status == http.StatusNotFound && bytes.Contains(bytes.ToLower(body), []byte("session")) {
		return session == c.current()
	}
	ctx, cancel := context.WithTimeout(ctx, sessionTime)
	defer cancel()
	for _, method := range sessionProbes {
		if session != c.current() || c.serverKnows(ctx, session, method) {
			return false
		}
	}
	return true
}

// serverKnows reports whether a server answers a method with a status other than 400 or 404, or
// with an error that says that only the method is unknown. It returns true if the server cannot be
// reached.
func (c *Client) serverKnows(ctx context.Context, session, method string) bool {
	ask := jsonrpc.Request(jsonrpc.StringID("mcpd-session"), method, nil).Append(nil)
	resp, _, err := c.do(ctx, http.MethodPost, session, net.Buffers{ask}, postAccept)
	if err != nil {
		return true
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest && resp.StatusCode != http.StatusNotFound {
		c.replaceSession(resp.Header, session)
		return true
	}
	m, ok := c.failure(resp, errorBody(resp))
	return ok && m.Error.Code == jsonrpc.CodeMethodNotFound
}

// failure returns the JSON-RPC error in the body of an unsuccessful response.
func (c *Client) failure(resp *http.Response, body []byte) (m jsonrpc.Message, ok bool) {
	m, err := jsonrpc.DecodeLenient(body, c.limits)
	return m, media(resp.Header) == jsonType && err == nil && m.Kind() == jsonrpc.KindFailure
}
