package streamable

import (
	"context"
	"fmt"
	"net/http"
	"strings"
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

// delete ends the session. Whatever the server says to that, we are leaving.
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
	if !c.closing {
		c.session = id
	}
}

// MaxStale is how often a request is sent again whose session id was replaced while it was on its
// way.
const MaxStale = 8

// replaced reports whether a response with that status may mean that the session id that was sent
// has been replaced by now. Its request was not executed.
func (c *Client) replaced(status int, sent string) bool {
	refused := status == http.StatusNotFound || status == http.StatusBadRequest
	return sent != "" && refused && sent != c.current()
}
