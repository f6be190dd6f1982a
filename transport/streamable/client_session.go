package streamable

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
