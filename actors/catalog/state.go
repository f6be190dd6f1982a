package catalog

import (
	"maps"
	"slices"
	"time"

	"mcpd/actors/client"
	merge "mcpd/gateway/catalog"
	"mcpd/telemetry"
)

// states defines the state of a server: the first row whose condition holds. Connections have
// separate restart budgets and pauses, so the server may be ready for some callers and not for
// others. The best connection decides; problems of the others make the server degraded.
var states = []struct {
	state client.State
	is    string
	holds func(s *server) bool
}{
	{
		client.Quarantined,
		"an operator has quarantined it, or its cause is permanent for all callers and no connection " +
			"is ready",
		func(s *server) bool {
			return s.recovery.QuarantinedByOperator() || s.recovery.ServerPause() != nil && !s.ready()
		},
	},
	{
		client.Backoff,
		"nothing usable answers at its URL, which is dialled at growing pauses",
		func(s *server) bool { ending, _ := s.recovery.Unreachable(); return ending != nil },
	},
	{
		client.Degraded,
		"a connection is ready, but another was given up, or no further one can be started, or a list " +
			"could not be read and an older or shorter one is shown",
		func(s *server) bool { return s.ready() && (s.recovery.WorstPause() != nil || len(s.lacks) > 0) },
	},
	{
		client.Ready,
		"a connection is ready: handshake, lists, subscriptions and log level are as requested",
		(*server).ready,
	},
	{
		client.Starting,
		"a connection is starting; it may be the probe of a quarantined one",
		func(s *server) bool { return len(s.awaitingStart) > 0 || s.in[client.Starting]+s.in[""] > 0 },
	},
	{client.Backoff, "a connection has failed and is being started again",
		func(s *server) bool { return s.in[client.Backoff] > 0 }},
	{client.Quarantined, "a connection was given up too often in a row",
		func(s *server) bool { p := s.recovery.WorstPause(); return p != nil && p.Quarantined() }},
	{
		client.CrashLoop,
		"a connection was given up; after its pause it is started again by the next call, or at once " +
			"for sessions that used it before",
		func(s *server) bool { return s.recovery.WorstPause() != nil },
	},
	{
		client.Stopped,
		"it ran and was stopped, because no session used it or nothing needed it for `idle_stop`; the " +
			"cause says which",
		func(s *server) bool { return s.ran },
	},
	{client.Idle, "it has not been requested yet",
		func(*server) bool { return true }},
}

func (s *server) ready() bool { return s.in[client.Ready] > 0 }

// computeState computes the state of a server.
func (s *server) computeState() client.State {
	for _, row := range states {
		if row.holds(s) {
			return row.state
		}
	}
	panic("the last row holds always")
}

// publishState updates the state of a server, and publishes it. A server that is no longer
// configured is not shown.
func (c *Catalog) publishState(s *server) {
	if s.unconfigured {
		return
	}
	now := c.p.Now()
	before := s.state
	if s.state = s.computeState(); s.state != before {
		s.since = now
	}
	r := s.record(now)
	if s.state != before {
		c.o.Emit(telemetry.UpstreamStateChanged{
			Where: telemetry.Where{
				Tenant: c.tenant.Name, Server: s.config.Name, Incident: r.Ending.Incident,
			},
			From: string(before), To: string(s.state), Cause: r.Ending.Cause, Class: r.Ending.Class,
		})
	}
	c.status.records[c.rows[s.config.Name]].Store(&r)
}

// record describes the server.
func (s *server) record(now time.Time) Record {
	r := Record{
		Server: s.config.Name, Link: s.config.Link(),
		Share: s.config.Share.Applied(s.config.Link()),
		State: s.state, Since: s.since, Open: len(s.conns), Odd: merge.DescribeIssues(s.oddities),
	}
	if l := s.last; l != nil {
		r.Version, r.Tools = l.facts.Version.String(), len(l.lists[merge.Tools])
		r.Stale = l.stale || l.stored
	}
	p := s.recovery.WorstPause()
	away, dials := s.recovery.Unreachable()
	switch {
	case s.state == client.Degraded && p == nil:
		lacks := slices.Min(slices.Collect(maps.Values(s.lacks)))
		r.Ending = telemetry.Ending{Cause: lacks, Class: client.Transient}
	case away != nil && (p == nil || !p.Operator):
		r.Ending = away.Status()
	case s.state == client.Stopped && p == nil && s.unneeded != "":
		r.Ending = telemetry.Ending{Cause: s.unneeded}
	case p != nil:
		r.Ending, r.Operator = p.Why.Status(), p.Operator
	case s.recovery.Last() != nil && s.state != client.Ready:
		r.Ending = s.recovery.Last().Status()
	}
	if p != nil && p.Until.After(now) {
		r.Retry = p.Until
	}
	if away != nil && dials.After(now) {
		r.Retry = dials
	}
	return r
}
