package faults

import (
	"context"
	"time"
)

// stimuli give rows of the core something to do, so that a fault that waits there for a message meets one: tenants can go on for long without them.
var stimuli = map[string]func(ctx context.Context, s *Site) error{
	"mcpd/core/configuration":    func(ctx context.Context, s *Site) error { return s.Host.Reload(ctx) },
	"mcpd/core/protocol_version": visit,
	"mcpd/core/session_manager":  visit,
	"mcpd/core/storage":          visit,
}

// Bounds of stimuli. One that its fault has struck may get no answer; another follows soon.
const (
	stimulants   = 4
	stimulusWait = 250 * time.Millisecond
	stimulusTime = time.Second
)

// visit opens a session of the tenant and ends it: it is negotiated, noted and written down.
func visit(ctx context.Context, s *Site) error {
	c, err := s.Client.session(ctx)
	if err != nil {
		return err
	}
	return c.Close(ctx)
}

// stimulated has a fault that was armed at a row of the core meet a message. It ends when the fault has struck, or with it.
func stimulated(ctx context.Context, s *Site, in Injected) Injected {
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
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stimulusTime) // what has begun is ended, so that no session is left behind
		defer cancel()
		return 0, does(ctx, s)
	})
	close(ready)
	heal := in.Heal
	in.Heal = func(ctx context.Context) error {
		_ = l.heal(ctx) // what it meets while something is broken is no mistake
		return heal(ctx)
	}
	return in
}
