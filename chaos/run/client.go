package run

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"mcpd/internal/load"
)

// client is a load.Client that opens a new session when the host has forgotten its session, as the
// protocol requires of clients.
type client struct {
	options load.SessionOptions
	effects *effectCounter // of its tenant; nil where no call has an effect

	mu       sync.Mutex // guards the fields below
	session  *load.Session
	reopened int
}

// Call implements load.Client.
func (c *client) Call(ctx context.Context, nonce load.Nonce) (load.Nonce, error) {
	s := c.current()
	var got load.Nonce
	var err error
	if c.effects != nil && c.effects.hasEffect(nonce) {
		got, err = c.effects.call(ctx, s, nonce)
	} else {
		got, err = s.Call(ctx, nonce)
	}
	c.after(ctx, s, err)
	return got, err
}

// after handles the result of a call: it opens a new session if the host has forgotten the session
// of the call.
func (c *client) after(ctx context.Context, s *load.Session, err error) {
	if status, ok := errors.AsType[load.StatusError](err); ok && status.Status == http.StatusNotFound {
		c.reopen(ctx, s)
	}
}

func (c *client) current() *load.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// reopen replaces a session, unless another call already has. If that fails, the next call tries
// again.
func (c *client) reopen(ctx context.Context, old *load.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != old {
		return
	}
	s, err := load.Connect(ctx, c.options)
	if err != nil {
		return
	}
	old.CloseIdle()
	c.session = s
	c.reopened++
}

// connect opens a tenant's sessions.
func connect(ctx context.Context, o load.SessionOptions, sessions int,
	e *effectCounter) ([]*client, error) {
	var list []*client
	for range sessions {
		s, err := load.Connect(ctx, o)
		if err != nil {
			disconnect(ctx, list)
			return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		list = append(list, &client{options: o, effects: e, session: s})
	}
	return list, nil
}

func disconnect(ctx context.Context, clients []*client) {
	for _, c := range clients {
		_ = c.current().Close(ctx) // the host evicts idle sessions anyway
	}
}
