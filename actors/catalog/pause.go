package catalog

import (
	"maps"
	"math/rand/v2"
	"time"

	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// Pauses before a connection whose restart budget ran out is started again: doubled each time, with full jitter so that those which
// fell together do not rise together, and back to the first after it was ready for Steady.
const (
	FirstPause = time.Second
	LastPause  = time.Minute
	Steady     = time.Minute
)

// MaxPauses bounds the pauses of one server that are remembered when they are over, so that the next is longer.
const MaxPauses = 256

// pause is how long a connection that was given up is left alone. Each has its own: what one principal does to his server is no reason to
// keep another from hers.
type pause struct {
	gap   time.Duration
	until time.Time
}

// paused is how long a connection is not to be started; 0 when it may be.
func (s *server) paused(key tenant.Key, now time.Time) time.Duration {
	if p := s.pauses[key]; p != nil {
		return max(0, p.until.Sub(now))
	}
	return 0
}

// due is when the first connection that was given up is started again, zero when none is to be waited for.
func (s *server) due(now time.Time) (first time.Time) {
	for _, p := range s.pauses {
		if p.until.After(now) && (first.IsZero() || p.until.Before(first)) {
			first = p.until
		}
	}
	return first
}

// gaveUp arms a connection whose restart budget ran out: it is started again after a pause.
func (c *Catalog) gaveUp(s *server, key tenant.Key, cause error) {
	now := c.p.Now()
	if len(s.pauses) >= MaxPauses {
		maps.DeleteFunc(s.pauses, func(_ tenant.Key, p *pause) bool { return !p.until.After(now) })
	}
	p := s.pauses[key]
	if p == nil {
		p = &pause{gap: FirstPause / 2}
		s.pauses[key] = p
	}
	p.gap = min(2*p.gap, LastPause)
	wait := time.Duration(rand.Int64N(int64(p.gap))) + p.gap/2
	p.until = now.Add(wait)
	switch {
	case s.ready > 0: // it is as well as its best connection
	case client.Permanent(cause):
		s.enter(client.Failed, now)
	default:
		s.enter(client.CrashLoop, now)
	}
	e := telemetry.UpstreamCrashLoop{
		Where:    telemetry.Where{Tenant: c.tenant.Name, Server: s.config.Name},
		Restarts: uint32(s.config.Intensity.Restarts), Within: s.config.Intensity.Within, Retry: wait,
	}
	if cause != nil {
		e.Cause = cause.Error()
	}
	c.o.Emit(e)
	c.p.After(wait, retry{s.config.Name, key})
}

// again lets a connection be started after its pause: at once for sessions that had used it, and else when somebody asks for it. Until then
// its server is still seen as it was.
func (c *Catalog) again(m retry) {
	s := c.servers[m.server]
	if s == nil {
		return
	}
	if s.left[m.key] != nil && s.sup != (otp.Ref{}) {
		c.restore(s, m.key)
	}
	c.show(s)
}
