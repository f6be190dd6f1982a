package supervisor

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"time"

	"mcpd/actors/client"
	"mcpd/supervisor/otp"
)

// Simulation makes a run of a host repeatable. It replaces what the host otherwise leaves to the
// machine, the network or chance. A nil field is left to these.
type Simulation struct {
	// Scheduler decides what runs when.
	Scheduler otp.Scheduler
	// Random is the source of ids and keys. Draw returns a time from 0 to less than n.
	Random io.Reader
	Draw   func(n time.Duration) time.Duration
	// Dial opens the connections to a server, instead of the server's declaration.
	Dial func(tenant, server string) client.Dial
	// Events gets every event of the tree.
	Events func(otp.Event)
}

// random fills b with random bytes. crypto/rand never fails.
func (s *Simulation) random(b []byte) { _, _ = io.ReadFull(s.source(), b) }

func (s *Simulation) source() io.Reader {
	if s.Random == nil {
		return rand.Reader
	}
	return s.Random
}

// dispatchEvents returns the receiver of the tree's events: both Events and recorded.
func (s *Simulation) dispatchEvents(recorded func(otp.Event)) func(otp.Event) {
	if s.Events == nil {
		return recorded
	}
	return func(e otp.Event) {
		s.Events(e)
		recorded(e)
	}
}

// Stop stops a host that is not run by Run. It returns when everything has stopped.
func (r *Running) Stop(ctx context.Context) error {
	return errors.Join(r.tree.Shutdown(ctx), r.h.end(ctx))
}
