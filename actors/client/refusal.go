package client

import (
	"errors"
	"slices"

	"mcpd/internal/order"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/session"
	"mcpd/transport/streamable"
)

// inAnother is the revision of an era in which a server is asked once more, after it has refused the
// one that it was asked in: the newest that it has named, or that a client of ours speaks. Only a
// refusal that may be about the revision counts. Each revision is tried once, so this ends.
func (c *Connection) inAnother(era protocol.Era, err error) (protocol.Version, bool) {
	var answer *jsonrpc.Error
	var status *streamable.StatusError
	var named, own []protocol.Version
	switch {
	case errors.As(err, &answer):
		named = protocol.NamedVersions(string(answer.Data), answer.Message)
		if answer.Code != jsonrpc.CodeMethodNotFound && (era == protocol.Legacy || answer.Code == protocol.CodeUnsupportedVersion) {
			own = c.own()
		}
	case errors.As(err, &status) && status.BadRequest():
		named = protocol.NamedVersions(status.Body)
		if era == protocol.Legacy {
			own = c.own()
		}
	default:
		return 0, false
	}
	c.refusals = append(c.refusals, c.asking)
	return c.o.Policy.Again(era, named, own, c.refusals)
}

// own are the revisions that the clients speak on whose behalf the server is asked.
func (c *Connection) own() (all []protocol.Version) {
	if left := c.o.Restore; left != nil {
		all = append(all, left.Version)
	}
	for _, u := range order.Of(c.users) {
		all = append(all, u.Version)
	}
	for _, x := range c.queue {
		all = append(all, x.Version)
	}
	return all
}

// asksAnew reports whether a program has ended after it refused a revision and before it answered
// in the next, and which that is. Some end with the refusal.
func (c *Connection) asksAnew() (protocol.Version, bool) {
	greeting := c.life != nil && c.life.Phase() == session.Initializing
	refused := slices.Contains(c.refusals, c.newest(protocol.Legacy))
	return c.asking, greeting && refused && c.piped() && c.greets != c.asking && c.asking.Era() == protocol.Legacy
}
