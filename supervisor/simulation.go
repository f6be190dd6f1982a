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

// Simulation makes a host the same each time: what it would leave to the machine, to the network or to chance is decided here. What is nil is
// left to them.
type Simulation struct {
	// Scheduler decides what runs when.
	Scheduler otp.Scheduler
	// Random is where ids and keys come from, and Draw a time from 0 to below n.
	Random io.Reader
	Draw   func(n time.Duration) time.Duration
	// Dial opens the connections to a server in the place of its declaration.
	Dial func(tenant, server string) client.Dial
	// Events hears of everything that happens in the tree.
	Events func(otp.Event)
}

// random fills b.
func (s *Simulation) random(b []byte) { _, _ = io.ReadFull(s.source(), b) } // crypto/rand never fails

func (s *Simulation) source() io.Reader {
	if s.Random == nil {
		return rand.Reader
	}
	return s.Random
}

// heard are the events of the tree on their way to all who hear of them.
func (s *Simulation) heard(recorded func(otp.Event)) func(otp.Event) {
	if s.Events == nil {
		return recorded
	}
	return func(e otp.Event) {
		s.Events(e)
		recorded(e)
	}
}

// Stop stops a host that is not run by Run, and returns when everything has stopped.
func (r *Running) Stop(ctx context.Context) error {
	return errors.Join(r.tree.Shutdown(ctx), r.h.end(ctx))
}
