package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"mcpd/supervisor/otp"
)

// scrape reads at each scrape the values that are states and not events. So nothing can be
// counted twice or forgotten, and no actor is involved.
type scrape struct {
	options MetricsOptions
	read    map[string]scraped
}

// scraped is one row of the table that is read at a scrape.
type scraped struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func newScraped(m metric) scraped {
	s := scraped{prometheus.NewDesc(m.name, m.help, m.labels, nil), prometheus.GaugeValue}
	if m.kind == counter {
		s.kind = prometheus.CounterValue
	}
	return s
}

func (s *scrape) Describe(out chan<- *prometheus.Desc) {
	for _, r := range s.read {
		out <- r.desc
	}
}

func (s *scrape) Collect(out chan<- prometheus.Metric) {
	send := func(name string, value float64, labels ...string) {
		r := s.read[name]
		out <- prometheus.MustNewConstMetric(r.desc, r.kind, value, labels...)
	}
	send("mcpd_build_info", 1, s.options.Version, s.options.Commit, s.options.GoVersion)
	if s.options.Config != nil {
		send("mcpd_config_info", 1, s.options.Config())
	}
	if s.options.Faults != nil {
		send("mcpd_chaos_faults_active", float64(s.options.Faults()))
	}
	if s.options.Limits != nil {
		s.limits(out)
	}
	if s.options.Queues != nil {
		for q := range s.options.Queues() {
			send("mcpd_queue_high_water", float64(q.HighWater), q.Name)
			send("mcpd_queue_limit", float64(q.Limit), q.Name)
		}
	}
	if s.options.Spawns != nil {
		waiting, delayed := s.options.Spawns()
		send("mcpd_spawn_queue", float64(waiting))
		send("mcpd_spawns_delayed_total", float64(delayed))
	}
	if s.options.IdleRunners != nil {
		send("mcpd_actor_idle_runners", float64(s.options.IdleRunners()))
	}
	if s.options.IdleUpstream != nil {
		send("mcpd_upstream_idle_connections", float64(s.options.IdleUpstream()))
	}
	if s.options.Certificate != nil {
		if remaining, ok := s.options.Certificate(); ok {
			send("mcpd_tls_certificate_expiry_seconds", remaining.Seconds())
		}
	}
	if s.options.History != nil {
		send("mcpd_history_bytes", float64(s.options.History()))
	}
	if s.options.Kept != nil {
		s.kept(send)
	}
	if s.options.Sessions != nil {
		s.sessions(send)
	}
	if s.options.Reserved != nil {
		s.reserved(send)
	}
	if s.options.Tree != nil {
		tree := s.options.Tree()
		s.tree(tree, send)
		s.holdings(tree, send)
		s.records(tree, send)
		if s.options.Readiness != nil {
			s.readiness(s.options.Readiness(tree), send)
		}
	}
}

// Readiness is the answer of /readyz.
type Readiness struct {
	State  string
	States []string        // all possible states
	Checks map[string]bool // whether each check is met
}

func (s *scrape) readiness(r Readiness, send func(string, float64, ...string)) {
	for _, state := range r.States {
		send("mcpd_host_state", one(state == r.State), state)
	}
	for check, met := range r.Checks {
		send("mcpd_readiness_check", one(met), check)
	}
}

// one returns 1 for yes and 0 for no.
func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// reserved sums up, by name, the reserved bytes of byte budgets.
func (s *scrape) reserved(send func(string, float64, ...string)) {
	sums := make(map[string]float64)
	for budget, bytes := range s.options.Reserved() {
		sums[budget] += float64(bytes)
	}
	for budget, bytes := range sums {
		send("mcpd_reserved_bytes", bytes, budget)
	}
}

// records sums up, by kind, the records that rows and the host keep.
func (s *scrape) records(tree otp.Node, send func(string, float64, ...string)) {
	sums := make(map[string]float64)
	add := func(kind string, n int) bool { sums[kind] += float64(n); return true }
	tree.Walk(func(node otp.Node) bool {
		if holder, ok := node.Extra.(RecordHolder); ok {
			holder.Records(add)
		}
		return true
	})
	if s.options.Records != nil {
		s.options.Records()(add)
	}
	for kind, n := range sums {
		send("mcpd_kept_records", n, kind)
	}
}

// held are the metrics of what the processes of a class hold together.
var held = []struct {
	metric string
	of     func(otp.Node) int
}{
	{"mcpd_actor_messages", func(n otp.Node) int { return n.Mailbox }},
	{"mcpd_actor_monitors", func(n otp.Node) int { return n.Holds.Monitors }},
	{"mcpd_actor_watchers", func(n otp.Node) int { return n.Holds.Watchers }},
	{"mcpd_actor_timers", func(n otp.Node) int { return n.Holds.Timers }},
	{"mcpd_actor_pending_replies", func(n otp.Node) int { return n.Holds.Replies }},
}

// holdings sums up, by class, what the rows of a tree hold.
func (s *scrape) holdings(tree otp.Node, send func(string, float64, ...string)) {
	sums := make(map[string][]float64)
	tree.Walk(func(node otp.Node) bool {
		class := classOf(node)
		if sums[class] == nil {
			sums[class] = make([]float64, len(held))
		}
		for i, h := range held {
			sums[class][i] += float64(h.of(node))
		}
		return true
	})
	for class, values := range sums {
		for i, h := range held {
			send(h.metric, values[i], class)
		}
	}
}

// classOf returns the class by which metrics count a row.
func classOf(n otp.Node) string { return orWord(n.Label, n.Type.String()) }

// Queue is one kind of queue of the host.
type Queue struct {
	Name             string
	HighWater, Limit int // Most is the high-water mark of the fullest queue
}

// KeptBytes is how many bytes of one kind a tenant keeps.
type KeptBytes struct {
	Tenant, Kind string
	Bytes        int64
}

// Limit is one bound of the host. It is shown as the gauge mcpd_limit_<Name>.
type Limit struct {
	Name string // with its unit
	Help string
	// Tenant is the tenant that the bound belongs to; empty for the default of all tenants.
	Tenant string
	Value  float64
}

func (s *scrape) limits(out chan<- prometheus.Metric) {
	n := 0
	for l := range s.options.Limits() {
		if l.Tenant != "" {
			if n++; n > MaxScraped {
				continue
			}
		}
		show := func(name, help string) {
			desc := prometheus.NewDesc(LimitPrefix+name, help, []string{"tenant"}, nil)
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, l.Value, l.Tenant)
		}
		show(l.Name, l.Help)
		if earlier := earlierLimits[l.Name]; earlier != "" {
			show(earlier, "Earlier name of "+LimitPrefix+l.Name+".")
		}
	}
}

// earlierLimits are the earlier names of limits, which have a gauge for one release more.
var earlierLimits = map[string]string{"input_timeout_seconds": "park_time_seconds"}

func (s *scrape) kept(send func(string, float64, ...string)) {
	n, more := 0, make(map[string]float64)
	for k := range s.options.Kept() {
		if n++; n > MaxScraped {
			more[k.Kind] += float64(k.Bytes)
			continue
		}
		send("mcpd_kept_bytes", float64(k.Bytes), k.Tenant, k.Kind)
	}
	for kind, bytes := range more {
		send("mcpd_kept_bytes", bytes, other, kind)
	}
}

func (s *scrape) sessions(send func(string, float64, ...string)) {
	streams, subscriptions, peers := 0.0, 0.0, 0.0
	eras := map[string]float64{"legacy": 0, "modern": 0}
	for session := range s.options.Sessions() {
		if session.GetPeer() {
			peers++
		} else {
			eras[orWord(session.GetEra(), other)]++
		}
		streams += float64(session.GetStreams())
		subscriptions += float64(session.GetSubscriptions())
	}
	for era, n := range eras {
		send("mcpd_sessions", n, era)
	}
	send("mcpd_peers", peers)
	send("mcpd_streams", streams)
	send("mcpd_subscriptions", subscriptions)
}

// MaxScraped bounds the label combinations that are read from the tree, as MaxSeries does for
// counted ones.
const MaxScraped = MaxSeries

func (s *scrape) tree(tree otp.Node, send func(string, float64, ...string)) {
	type row struct{ class, status string }
	type target struct{ tenant, server string }
	rows, mailboxes, up := make(map[row]float64), make(map[string]float64), make(map[target]float64)
	states, used := make(map[target]map[string]float64), make(map[target]float64)
	send("mcpd_actor_hung", float64(tree.Isolated))
	tree.Walk(func(node otp.Node) bool {
		class := classOf(node)
		rows[row{class, node.Status.String()}]++
		mailboxes[class] = max(mailboxes[class], float64(node.Mailbox))
		if t, ok := node.Extra.(TenantStatus); ok {
			for _, state := range TenantStates {
				is := 0.0
				if state == t.State {
					is = 1
				}
				send("mcpd_tenant_state", is, t.Tenant, state)
			}
		}
		if u, ok := UpstreamOf(node); ok {
			t := target{u.Tenant, u.Server}
			if _, known := up[t]; !known && len(up) >= MaxScraped {
				t = target{other, other}
			}
			ready := 0.0
			if u.State == StateReady || u.State == StateDegraded {
				ready = 1
			}
			up[t] = max(up[t], ready)
			if ids, ok := node.Extra.(RequestIDUser); ok {
				used[t] = max(used[t], ids.RequestIDUsage())
			}
			if node.Label == UpstreamLabel {
				if states[t] == nil {
					states[t] = make(map[string]float64, len(States))
				}
				states[t][u.State]++
			}
		}
		return true
	})
	for r, n := range rows {
		send("mcpd_actors", n, r.class, r.status)
	}
	for class, n := range mailboxes {
		send("mcpd_actor_mailbox_depth", n, class)
	}
	for t, n := range up {
		send("mcpd_upstream_up", n, t.tenant, t.server)
	}
	for t, share := range used {
		send("mcpd_upstream_request_id_usage_ratio", share, t.tenant, t.server)
	}
	for t, is := range states {
		for _, state := range States {
			send("mcpd_upstream_state", is[state], t.tenant, t.server, state)
		}
	}
}
