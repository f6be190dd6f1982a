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

// Leave has Close end the connection and not the session, with which another Client goes on by Take
// or Resume. It returns the id of the session; it is empty, and nothing is changed, where there is no
// session that outlives its connection.
func (c *Client) Leave() (session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known || c.inbox.Load() != nil || c.closing || c.lost != nil || c.isOver() {
		return ""
	}
	c.left = c.session != ""
	return c.session
}

// Take goes on with a session that another Client has left. The revision has to be set by Negotiated.
func (c *Client) Take(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = session
}

// Resume is Take that opens the standing stream too, as notifications/initialized does. What is sent
// after it waits for that stream in the same way. ErrSessionLost comes by Recv when the server has
// forgotten the session.
func (c *Client) Resume(session string) {
	opened := make(chan struct{})
	c.mu.Lock()
	c.session, c.gate = session, opened
	c.mu.Unlock()
	c.open(opened, true)
}

// delete ends the session. The answer does not matter: we are leaving.
func (c *Client) delete(ctx context.Context, session string) {
	ctx, cancel := context.WithTimeout(ctx, farewellTime)
	defer cancel()
	if resp, _, err := c.do(ctx, http.MethodDelete, session, nil, nil); err == nil {
		discard(resp)
	}
}

// current is the session id, empty before there is one.
func (c *Client) current() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// adopt keeps the session id that came with the answer to initialize.
func (c *Client) adopt(h http.Header) error {
	id := h.Get("Mcp-Session-Id") // others than visible ASCII, which the specification wants, are sent back as well; empty where there are none
	if !sendable(id) {
		return fmt.Errorf("the session id of %d bytes is too long or holds control characters", len(id))
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

// readopt keeps the session id of a later response to a POST, as the TypeScript SDK does: some
// servers replace theirs. One that repeats what was sent says nothing: another response may have
// replaced that meanwhile. Revisions without sessions have none.
func (c *Client) readopt(h http.Header, sent string) {
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
	if c.next != nil {
		close(c.next)
	}
	c.next = make(chan struct{})
}

// MaxStale is how often a request is sent again whose session id was replaced while it was on its
// way.
const MaxStale = 8

// replaceTime is how long the response may take that replaces a session id with which another
// request was refused.
const replaceTime = 250 * time.Millisecond

// replaced reports whether a response with that status may mean that the session id that was sent
// has been replaced by now. Its request was not executed. Where a server replaces its ids the
// response that has the next one may come a moment later.
func (c *Client) replaced(ctx context.Context, status int, sent string) bool {
	if sent == "" || status != http.StatusNotFound && status != http.StatusBadRequest {
		return false
	}
	c.mu.Lock()
	now, next := c.session, c.next
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

// harmless are the methods by which a server is asked whether it knows our session. Each that
// offers something answers one of them, and some answer no ping.
var harmless = [...]string{"ping", "tools/list", "resources/list", "prompts/list"}

// forgotten reports whether a response means that our session is gone. 404 that speaks of the
// session does. Other 404 and 400 may be about no more than what was asked for, such as a path or
// a method that the server does not have: the session is gone if all else is answered so as well.
// A session id that was replaced meanwhile says nothing.
func (c *Client) forgotten(ctx context.Context, status int, body []byte, session string) bool {
	if session == "" || status != http.StatusNotFound && status != http.StatusBadRequest {
		return false
	}
	if status == http.StatusNotFound && bytes.Contains(bytes.ToLower(body), []byte("session")) {
		return session == c.current()
	}
	ctx, cancel := context.WithTimeout(ctx, sessionTime)
	defer cancel()
	for _, method := range harmless {
		if session != c.current() || c.knows(ctx, session, method) {
			return false
		}
	}
	return true
}

// knows reports whether a server answers a method otherwise than with 400 or 404, or says in those
// that it is the method that it does not have. A server that cannot be asked may know it.
func (c *Client) knows(ctx context.Context, session, method string) bool {
	ask := jsonrpc.Request(jsonrpc.StringID("mcpd-session"), method, nil).Append(nil)
	resp, _, err := c.do(ctx, http.MethodPost, session, net.Buffers{ask}, postAccept)
	if err != nil {
		return true
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest && resp.StatusCode != http.StatusNotFound {
		c.readopt(resp.Header, session)
		return true
	}
	m, ok := c.failure(resp, excuse(resp))
	return ok && m.Error.Code == jsonrpc.CodeMethodNotFound
}

// failure is the error of JSON-RPC in the body of a response that is no success.
func (c *Client) failure(resp *http.Response, body []byte) (m jsonrpc.Message, ok bool) {
	m, err := jsonrpc.DecodeLenient(body, c.limits)
	return m, media(resp.Header) == jsonType && err == nil && m.Kind() == jsonrpc.KindFailure
}
