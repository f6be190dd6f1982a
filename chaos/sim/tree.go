package sim

import (
	"maps"
	"slices"
	"strings"

	"mcpd/actors/session"
	"mcpd/gateway/quota"
	"mcpd/supervisor/otp"
)

// pools are the supervisors whose children come and go, and observability, which may stay down.
var pools = []string{
	"/client_sup/", "/held_sup/", "/task_sup/", "/server_sup/", "mcpd/observability/",
}

// standing returns the rows that have to run for as long as the host does, with their status.
func (s *simulation) standing() map[string]otp.Status {
	rows := map[string]otp.Status{}
	s.host.Snapshot().Walk(func(n otp.Node) bool {
		if !slices.ContainsFunc(pools, func(pool string) bool {
			return strings.Contains(n.Path, pool)
		}) && n.ID != "observability" {
			rows[n.Path] = n.Status
		}
		return true
	})
	return rows
}

// restarted checks that every permanent row that ran at the beginning runs at the end, however
// often it crashed.
func (s *simulation) restarted(before map[string]otp.Status) {
	after := s.standing()
	for _, path := range slices.Sorted(maps.Keys(before)) {
		if is, there := after[path]; !there || is != otp.Running {
			s.find("I9 supervision", "%s does not run at the end: it is %v", path, is)
		}
	}
}

// holdings checks that the idle tree has no leaks: actors of sessions that are over, monitors of
// which one side is gone, calls without an answer, and bytes of requests that have ended.
func (s *simulation) holdings() {
	actors, monitors, watchers := 0, 0, 0
	s.host.Snapshot().Walk(func(n otp.Node) bool {
		monitors, watchers = monitors+n.Holds.Monitors, watchers+n.Holds.Watchers
		if n.Label == "session" {
			actors++
		}
		if n.Holds.Replies > 0 {
			s.find("I6 leaks", "%s has %d calls without an answer", n.Path, n.Holds.Replies)
		}
		return true
	})
	for _, k := range s.host.Kept() {
		for _, kind := range []quota.Kind{quota.Requests, quota.HeldCalls, quota.Answers,
			quota.Notifications,
			quota.Outgoing, quota.PendingWrites, quota.Questions} {
			if bytes := k.Kinds[kind]; bytes != 0 {
				s.find("I6 leaks", "tenant %s keeps %d bytes of %s, and nothing is in flight", k.Tenant,
					bytes, kind)
			}
		}
	}
	sessions, of, subscribed := 0, map[string]int64{}, map[string]bool{}
	s.host.Edge().Index.Each(func(h *session.Handle) bool {
		sessions++
		of[h.Endpoint().Tenant]++
		if r := h.Record(); r != nil && len(r.URIs) > 0 {
			subscribed[h.Endpoint().Tenant] = true
		}
		return true
	})
	for _, k := range s.host.Kept() {
		if bytes, n := k.Kinds[quota.Sessions], of[k.Tenant]; (bytes == 0) != (n == 0) ||
			bytes < n*session.OverheadBytes {
			s.find("I6 leaks", "tenant %s keeps %d bytes of %d sessions", k.Tenant, bytes, n)
		}
	}
	for _, k := range s.host.Kept() {
		if bytes := k.Kinds[quota.Subscriptions]; bytes != 0 && !subscribed[k.Tenant] {
			s.find("I6 leaks", "tenant %s keeps %d bytes of subscriptions, and no session has one",
				k.Tenant, bytes)
		}
	}
	if actors > sessions {
		s.find("I6 leaks", "rows of session: %d actors of %d sessions", actors, sessions)
	}
	if monitors != watchers {
		s.find("I6 leaks", "monitors: %d are asked for, and %d wait for an end", monitors, watchers)
	}
}
