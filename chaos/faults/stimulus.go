package faults

import (
	"context"
	"time"
)

// stimuli give rows of the core some work, so that a fault that waits there for a message meets
// one. Tenants alone may not need these rows for a long time.
var stimuli = map[string]func(ctx context.Context, s *Site) error{
	"mcpd/core/configuration": func(ctx context.Context, s *Site) error {
		return s.Host.Reload(ctx)
	},
	"mcpd/core/protocol_version": visit,
	"mcpd/core/session_manager":  visit,
	"mcpd/core/storage":          visit,
}

// Bounds of stimuli. A stimulus that its fault has struck may get no answer; another follows soon.
const (
	stimulants   = 4
	stimulusWait = 250 * time.Millisecond
	stimulusTime = time.Second
)

// visit opens a session of the tenant and ends it, which involves version negotiation, the session
// manager and the storage.
func visit(ctx context.Context, s *Site) error {
	c, err := s.Client.session(ctx)
	if err != nil {
		return err
	}
	return c.Close(ctx)
}

// withStimuli makes sure that a fault that was armed at a row of the core meets a message. The
// stimuli end when the fault has struck or is healed.
func withStimuli(ctx context.Context, s *Site, in Injected) Injected {
	does, ok := stimuli[s.Row]
	if !ok {
		return in
	}
	var l *loop
	ready := make(chan struct{})
	l = begin(ctx, s, stimulants, stimulusWait, func(ctx context.Context, _ int) (int, error) {
		<-ready
		if n, err := in.Hits(ctx); err == nil && n > 0 {
			l.stop()
			return 0, nil
		}
		// a stimulus that has begun is completed, so that no session stays behind
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stimulusTime)
		defer cancel()
		return 0, does(ctx, s)
	})
	close(ready)
	heal := in.Heal
	in.Heal = func(ctx context.Context) error {
		_ = l.heal(ctx) // failures are expected while something is broken
		return heal(ctx)
	}
	return in
}
