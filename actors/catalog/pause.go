package catalog

import (
	"cmp"
	"maps"
	"time"

	"mcpd/actors/client"
	"mcpd/gateway/tenant"
	"mcpd/internal/order"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// Pauses before a connection whose restart budget ran out is started again: anything from half the first to a bound that is doubled each
// time, so that those which fell together do not rise together. It is the first again after the server was ready for Steady.
const (
	FirstPause = time.Second
	LastPause  = time.Minute
	Steady     = time.Minute
)

// MaxGivenUp is how often in a row a connection is given up before it is quarantined: with pauses of two minutes in all, on average.
const MaxGivenUp = 10

// Pauses before a probe of what is quarantined, drawn in the same way. The last is what a broken server costs that is never mended, and
// how long one that was mended by itself may go unnoticed.
const (
	FirstProbe = 2 * time.Minute
	LastProbe  = time.Hour
)

// MaxPauses bounds the pauses of one server that are remembered when they are over, so that the next is longer.
const MaxPauses = 256

// pause is how long a connection that was given up is left alone. Each has its own: what one principal does to his server is no reason to
// keep another from hers. A server that cannot work for anybody has one as a whole.
type pause struct {
	why      *client.Ending
	since    time.Time // of the first time in the row
	times    int       // that it was given up in a row
	gap      time.Duration
	until    time.Time
	down     bool // it was not ready since
	operator bool // it has no end of its own
}

func (p *pause) quarantined() bool { return p.operator || p.times >= MaxGivenUp }

// grow makes the pause longer than the last and begins it.
func (p *pause) grow(why *client.Ending, now time.Time, draw func(time.Duration) time.Duration) (wait time.Duration) {
	first, last := FirstPause, LastPause
	if p.quarantined() {
		first, last = FirstProbe, LastProbe
	}
	p.why, p.down = why, true
	p.gap = min(max(2*p.gap, first), last)
	least := first / 2
	wait = least + draw(p.gap-least+1)
	p.until = now.Add(wait)
	return wait
}

// paused is how long a connection is not to be started; 0 when it may be.
func (s *server) paused(key tenant.Key, now time.Time) time.Duration {
	if p := cmp.Or(s.whole, s.pauses[key]); p != nil {
		return max(0, p.until.Sub(now))
	}
	return 0
}

// closed reports whether a connection is not to be started.
func (s *server) closed(key tenant.Key, now time.Time) bool {
	_, away := s.away.closedBy(now)
	return away || s.whole != nil && s.whole.operator || s.paused(key, now) > 0 || s.probing(key)
}

// gaveUp arms a connection whose restart budget ran out: it is started again after a pause, or after too many of them only for a probe.
func (c *Catalog) gaveUp(s *server, key tenant.Key, cause *client.Ending) {
	now := c.p.Now()
	if len(s.pauses) >= MaxPauses {
		maps.DeleteFunc(s.pauses, func(_ tenant.Key, p *pause) bool { return !p.until.After(now) })
	}
	p := s.pauses[key]
	if p == nil {
		p = &pause{since: now}
		s.pauses[key] = p
	}
	p.times++
	if p.quarantined() {
		cause = cause.Again()
	}
	s.ended(key, cause)
	wait := p.grow(cause, now, c.o.Draw)
	at := telemetry.Where{Tenant: c.tenant.Name, Server: s.config.Name, Incident: cause.Incident}
	if p.times == MaxGivenUp {
		c.tellQuarantined(s, []tenant.Key{key}, cause, wait)
	}
	if p.quarantined() {
		c.o.Emit(telemetry.UpstreamQuarantined{
			Where: at, Connection: key.String(), Class: cause.Class(), Cause: cause.Text, Stderr: cause.Stderr, Retry: wait,
		})
		c.note(s)
	} else {
		c.o.Emit(telemetry.UpstreamCrashLoop{
			Where: at, Restarts: uint32(s.config.Intensity.Restarts), Within: s.config.Intensity.Within,
			Retry: wait, Class: cause.Class(), Cause: cause.Text, Starts: cause.Starts,
		})
	}
	c.p.After(wait, retry{s.config.Name, key})
}

// again lets a connection be started after its pause: at once for sessions that had used it, and else when somebody asks for it. Until then
// its server is still seen as it was, unless the connection was that of a session which may be gone.
func (c *Catalog) again(m retry) {
	s := c.servers[m.server]
	if s == nil {
		return
	}
	if s.sup != (otp.Ref{}) {
		c.resume(s)
	}
	if p := s.pauses[m.key]; p != nil && m.key.Share == tenant.BySession && s.left[m.key] == nil && !p.until.After(c.p.Now()) {
		p.down = false
	}
	c.show(s)
}

// idles reports whether a program that never came to its handshake has nothing to go on with for its sessions:
// it is started again when one of them calls.
func (s *server) idles(key tenant.Key, left *client.Left) bool {
	p := s.pauses[key]
	return p != nil && p.down && p.why.Vain() && len(left.URIs)+len(left.Levels)+len(left.Holds) == 0
}

// resume starts the connections that sessions had used, and those that are to be there in any case, as far as they may be: of what is quarantined
// as a whole one, which is the probe.
func (c *Catalog) resume(s *server) {
	for key, left := range order.By(s.left, tenant.Key.Compare) {
		if !s.closed(key, c.p.Now()) && !s.idles(key, left) {
			c.restore(s, key)
		}
	}
	c.eager(s)
}

// sound reports whether a pause is one that grow could have made.
func (p *pause) sound(now time.Time) bool {
	if p.why == nil || p.times < 0 {
		return false
	}
	return p.operator || p.gap >= 0 && p.gap <= LastProbe && !p.until.After(now.Add(LastProbe))
}
