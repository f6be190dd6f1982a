package telemetry

import (
	"errors"
	"strconv"
	"time"

	"mcpd/supervisor/otp"
)

// kind is the kind of an instrument.
type kind uint8

const (
	counter kind = iota
	gauge
	histogram
)

func (k kind) String() string { return [...]string{"counter", "gauge", "histogram"}[k] }

// metric is one instrument.
type metric struct {
	name   string
	kind   kind
	labels []string
	// unit is the name's last word except _total; "" for counts.
	unit string
	help string
	// also is the name of the instrument in the requirements or in OpenTelemetry.
	also   string
	from   []eventSource // the events that feed it; none: see direct
	direct string        // the source of an instrument without events
	// zero makes a gauge without labels 0 before the first event, instead of absent.
	zero bool
}

// The sources of instruments without events.
const (
	atRequests = "requests" // a handle of Metrics.Requests
	atErrors   = "errors"   // Metrics.Error
	atScrape   = "scrape"   // read at each scrape
)

var (
	none    []string
	perCall = []string{"tenant", "server", "method"}
)

// metrics is the table. Every label has a bounded set of values: names from the configuration,
// words of this code, methods of the protocol. All combinations beyond MaxSeries count as
// "_other".
var metrics = []metric{
	{name: "mcpd_build_info", kind: gauge, labels: []string{"version", "commit", "goversion"},
		help: "The running build, always 1", direct: atScrape},

	// Readiness.
	{name: "mcpd_host_state", kind: gauge, labels: []string{"state"},
		help: "1 for the state that /readyz reports, 0 for the others", direct: atScrape},
	{name: "mcpd_readiness_check", kind: gauge, labels: []string{"check"},
		help: "1 if the check of /readyz passes, 0 if it fails: the host is then degraded, or still " +
			"starting if it needs what is checked", direct: atScrape},

	// Requests.
	{name: "mcpd_requests_total", kind: counter, labels: []string{
		"tenant", "server", "method", "outcome",
	},
		help: "Downstream requests that have an outcome", direct: atRequests},
	{name: "mcpd_requests_in_flight", kind: gauge, labels: perCall,
		help: "Downstream requests that wait for their outcome", also: "mcp.requests.pending (S4-136)",
		direct: atRequests},
	{name: "mcp_server_operation_duration_seconds", kind: histogram, labels: []string{"method"},
		unit: "seconds",
		help: "Time from a downstream request to its outcome", also: "mcp.server.operation.duration",
		direct: atRequests},
	{name: "mcp_client_operation_duration_seconds", kind: histogram, labels: []string{"method"},
		unit: "seconds",
		help: "Time from an upstream request to its reply", also: "mcp.client.operation.duration",
		direct: atRequests},
	{name: "mcpd_gateway_overhead_seconds", kind: histogram, labels: none, unit: "seconds",
		help:   "The part of a request's duration that was not spent waiting for a server",
		direct: atRequests},
	{name: "mcpd_errors_total", kind: counter, labels: []string{"code"},
		help: "JSON-RPC errors sent downstream", also: "mcp.errors.total (S4-137)", direct: atErrors},
	{name: "mcpd_rejections_total", kind: counter, labels: []string{"reason"},
		help: "Requests refused before they reached a server",
		from: []eventSource{countOf(func(e Rejected) []string { return []string{e.Reason} })}},
	{name: "mcpd_upstream_late_replies_total", kind: counter, labels: []string{"reason"},
		help: "Replies that nobody waited for any more, and answers that a server refused",
		from: []eventSource{valueOf(func(e ReplyDropped) (float64, []string) {
			return float64(max(e.Count, 1)), []string{e.Reason}
		})}},
	{name: "mcpd_notifications_dropped_total", kind: counter, labels: []string{"reason"},
		help: "Notifications that were not delivered",
		from: []eventSource{valueOf(func(e NotificationDropped) (float64, []string) {
			return float64(max(e.Count, 1)), []string{e.Reason}
		})}},

	// Sessions.
	{name: "mcpd_sessions", kind: gauge, labels: []string{"era"},
		help: "Downstream sessions", direct: atScrape},
	{name: "mcpd_peers", kind: gauge, labels: none,
		help: "Kinds of clients without a session (2026-07-28): clients of one principal that declare " +
			"the same, as far as it matters", direct: atScrape},
	{name: "mcpd_streams", kind: gauge, labels: none,
		help: "Event streams open to clients", direct: atScrape},
	{name: "mcpd_subscriptions", kind: gauge, labels: none,
		help:   "Subscriptions of clients: resources of sessions, and streams of subscriptions",
		direct: atScrape},
	{name: "mcpd_sessions_opened_total", kind: counter, labels: []string{"transport"},
		help: "Downstream sessions opened",
		from: []eventSource{countOf(func(e SessionOpened) []string { return []string{e.Transport} })}},
	{name: "mcpd_sessions_closed_total", kind: counter, labels: []string{"cause"},
		help: "Downstream sessions closed",
		from: []eventSource{countOf(func(e SessionClosed) []string {
			return []string{e.Cause.String()}
		})}},
	{name: "mcp_server_session_duration_seconds", kind: histogram, labels: none, unit: "seconds",
		help: "Time from the opening of a downstream session to its close",
		also: "mcp.server.session.duration",
		from: []eventSource{duration(func(e SessionClosed) (time.Duration, []string) {
			return e.Age, none
		})}},
	{name: "mcpd_protocol_negotiations_total", kind: counter, labels: []string{"side", "version"},
		help: "Negotiations of a protocol revision, by the agreed revision; refused if there is none",
		also: "mcp.protocol.version.negotiated (S4-134)",
		from: []eventSource{countOf(func(e ProtocolNegotiation) []string {
			return []string{e.Side, orWord(e.Negotiated, "refused")}
		})}},
	{name: "mcpd_phase_transitions_total", kind: counter, labels: []string{"side", "from", "to"},
		help: "Steps in the lifecycle of connections", also: "mcp.phase.transitions (S4-135)",
		from: []eventSource{countOf(func(e PhaseChanged) []string {
			return []string{e.Side, e.From, e.To}
		})}},
	{name: "mcpd_history_bytes", kind: gauge, labels: none, unit: "bytes",
		help: "Bytes of events that wait for clients or are kept for their return, for history_time " +
			"at most",
		direct: atScrape},

	// Tenants.
	{name: "mcpd_tenant_state", kind: gauge, labels: []string{"tenant", "state"},
		help: "1 for the state that the tenant is in, 0 for the others", direct: atScrape},
	{name: "mcpd_tenant_pauses_total", kind: counter, labels: []string{"tenant"},
		help: "Times a tenant ended by itself and was paused",
		from: []eventSource{countOf(func(e TenantPaused) []string { return []string{e.Tenant} })}},
	{name: "mcpd_tenant_quarantines_total", kind: counter, labels: []string{"tenant"},
		help: "Times a tenant was quarantined",
		from: []eventSource{countOf(func(e TenantQuarantined) []string { return []string{e.Tenant} })}},
	{name: "mcpd_crashes_charged_total", kind: counter, labels: []string{"tenant", "class"},
		help: "Crashes of shared components on messages of a tenant, which do not count against the " +
			"component",
		from: []eventSource{countOf(func(e CrashCharged) []string {
			return []string{e.Tenant, e.Class}
		})}},
	{name: "mcpd_actor_pauses_total", kind: counter, labels: []string{"class"},
		help: "Times a row near the root ended too often and was paused",
		from: []eventSource{countOf(func(e ChildPaused) []string { return []string{e.Class} })}},

	// Upstreams.
	{name: "mcpd_upstream_up", kind: gauge, labels: []string{"tenant", "server"},
		help: "1 when at least one connection to the server is ready", direct: atScrape},
	{name: "mcpd_upstream_state", kind: gauge, labels: []string{"tenant", "server", "state"},
		help: "1 for the state that the server is in, 0 for the others", direct: atScrape},
	{name: "mcpd_upstream_request_id_usage_ratio", kind: gauge, labels: []string{"tenant", "server"},
		unit: "ratio",
		help: "Share of the request ids that the most used connection of the server has used; the " +
			"connection is replaced at 0.9", direct: atScrape},
	{name: "mcpd_upstream_quarantines_total", kind: counter, labels: []string{
		"tenant", "server", "class",
	},
		help: "Times a server or a connection to it was quarantined",
		from: []eventSource{countOf(func(e UpstreamQuarantined) []string {
			return []string{e.Tenant, e.Server, e.Class}
		})}},
	{name: "mcpd_upstream_starts_total", kind: counter, labels: []string{"tenant", "server", "result"},
		help: "Starts of upstream connections, successful or failed",
		from: []eventSource{
			countOf(func(e UpstreamReady) []string { return []string{e.Tenant, e.Server, "ready"} }),
			countOf(func(e UpstreamStartFailed) []string { return []string{e.Tenant, e.Server, "failed"} }),
		}},
	{name: "mcpd_upstream_exits_total", kind: counter, labels: []string{"tenant", "server", "cause"},
		help: "Upstream connections that ended by themselves",
		from: []eventSource{countOf(func(e UpstreamExited) []string {
			return []string{e.Tenant, e.Server, e.Cause}
		})}},
	{name: "mcpd_upstream_closed_total", kind: counter, labels: []string{"tenant", "server", "cause"},
		help: "Upstream connections that were closed because nothing needed them",
		from: []eventSource{
			countOf(func(e UpstreamClosed) []string { return []string{e.Tenant, e.Server, e.Cause} }),
			countOf(func(e UpstreamAsleep) []string { return []string{e.Tenant, e.Server, "idle_stop"} }),
		}},
	{name: "mcpd_upstream_crash_loops_total", kind: counter, labels: []string{"tenant", "server"},
		help: "Times a server was given up for a while",
		from: []eventSource{countOf(func(e UpstreamCrashLoop) []string {
			return []string{e.Tenant, e.Server}
		})}},
	{name: "mcpd_upstream_start_duration_seconds", kind: histogram, labels: none, unit: "seconds",
		help: "Time from spawn or connect to ready",
		from: []eventSource{duration(func(e UpstreamReady) (time.Duration, []string) {
			return e.Start, none
		})}},
	{name: "mcpd_upstream_restart_to_ready_seconds", kind: histogram, labels: none, unit: "seconds",
		help: "Time from the loss of an upstream connection until the next one is ready",
		from: []eventSource{duration(func(e UpstreamReady) (time.Duration, []string) {
			return e.Down, none
		})}},
	{name: "mcpd_upstream_noise_lines_total", kind: counter, labels: []string{"tenant", "server"},
		help: "Lines from servers that were not JSON-RPC",
		from: []eventSource{valueOf(func(e UpstreamNoise) (float64, []string) {
			return float64(e.Lines), []string{e.Tenant, e.Server}
		})}},
	{name: "mcpd_upstream_paced_seconds_total", kind: counter, labels: []string{"tenant", "server"},
		unit: "seconds",
		help: "How long servers waited because they sent more than the host reads",
		from: []eventSource{valueOf(func(e UpstreamPaced) (float64, []string) {
			return e.For.Seconds(), []string{e.Tenant, e.Server}
		})}},
	{name: "mcpd_upstream_stderr_lines_total", kind: counter, labels: []string{"tenant", "server"},
		help: "Lines that servers wrote to their standard error",
		from: []eventSource{valueOf(func(e UpstreamStderr) (float64, []string) {
			return float64(e.Lines), []string{e.Tenant, e.Server}
		})}},
	{name: "mcpd_upstream_lists_cut_total", kind: counter, labels: []string{
		"tenant", "server", "reason",
	},
		help: "Lists of servers that exceed a bound, by the bound",
		from: []eventSource{countOf(func(e ListCut) []string {
			return []string{e.Tenant, e.Server, e.Reason}
		})}},
	{name: "mcpd_upstream_odd_items_total", kind: counter, labels: []string{
		"tenant", "server", "action",
	},
		help: "Items of servers' lists that violate the schemas, counted again for each new list",
		from: []eventSource{valueOf(func(e ItemsOdd) (float64, []string) {
			return float64(e.Count), []string{e.Tenant, e.Server, e.Action}
		})}},
	{name: "mcpd_upstream_idle_connections", kind: gauge, labels: none,
		help: "Connections to servers behind http:// that are kept open for a next request, for 50 s " +
			"at most",
		direct: atScrape},
	{name: "mcpd_spawn_queue", kind: gauge, labels: none,
		help: "Server programs that wait for their turn to be started", direct: atScrape},
	{name: "mcpd_spawns_delayed_total", kind: counter, labels: none,
		help: "Starts of server programs that had to wait for their turn", direct: atScrape},

	// Actors.
	{name: "mcpd_actors", kind: gauge, labels: []string{"class", "status"},
		help: "Rows of the supervision tree", direct: atScrape},
	{name: "mcpd_actor_restarts_total", kind: counter, labels: []string{"class", "mode"},
		help: "Restarts by supervisors, in place or as a new process",
		from: []eventSource{countOf(func(e ChildRestarted) []string {
			return []string{e.Class, restartMode(e)}
		})}},
	{name: "mcpd_actor_restart_duration_seconds", kind: histogram, labels: []string{"class"},
		unit: "seconds",
		help: "Time from the end of an instance until the next one is ready",
		from: []eventSource{duration(func(e ChildRestarted) (time.Duration, []string) {
			return e.Took, []string{e.Class}
		})}},
	{name: "mcpd_actor_crashes_total", kind: counter, labels: []string{"class", "reason"},
		help: "Abnormal ends: panic, error, stuck at a message, or injected by a fault",
		from: []eventSource{countOf(func(e ChildCrashed) []string {
			return []string{e.Class, crashReason(e)}
		})}},
	{name: "mcpd_actor_start_failures_total", kind: counter, labels: []string{"class"},
		help: "Instances that did not become ready",
		from: []eventSource{countOf(func(e StartFailed) []string { return []string{e.Class} })}},
	{name: "mcpd_actor_overloads_total", kind: counter, labels: []string{"class"},
		help: "Times a mailbox filled up",
		from: []eventSource{countOf(func(e Overloaded) []string { return []string{e.Class} })}},
	{name: "mcpd_actor_abandoned_total", kind: counter, labels: []string{"class"},
		help: "Instances that did not stop in time and were isolated",
		from: []eventSource{countOf(func(e Abandoned) []string { return []string{e.Class} })}},
	{name: "mcpd_actor_stuck_total", kind: counter, labels: []string{"class"},
		help: "Times an actor handled one message for longer than its soft deadline",
		from: []eventSource{countOf(func(e ActorStuck) []string { return []string{e.Class} })}},
	{name: "mcpd_actor_hung", kind: gauge, labels: none,
		help: "Isolated instances whose goroutines, which cannot be ended, have not returned; a tenant " +
			"with 64 is ended instead", direct: atScrape},
	{name: "mcpd_actor_idle_runners", kind: gauge, labels: none,
		help: "Idle goroutines that wait for an actor with work: as many as were busy at the same " +
			"time, at most 64", direct: atScrape},
	{name: "mcpd_actor_state_dropped_total", kind: counter, labels: []string{"class", "part"},
		help: "Parts of an instance's state that the next one did not take over",
		from: []eventSource{valueOf(func(e StateDropped) (float64, []string) {
			return float64(e.Count), []string{e.Class, e.Part}
		})}},
	{name: "mcpd_actor_mailbox_depth", kind: gauge, labels: []string{"class"},
		help: "Messages waiting in the fullest mailbox of the class", direct: atScrape},
	{name: "mcpd_actor_messages", kind: gauge, labels: []string{"class"},
		help: "Messages waiting in all mailboxes of the class", direct: atScrape},
	{name: "mcpd_actor_monitors", kind: gauge, labels: []string{"class"},
		help: "Monitors that actors of the class have requested and not cancelled", direct: atScrape},
	{name: "mcpd_actor_watchers", kind: gauge, labels: []string{"class"},
		help:   "Monitors that wait for the end of an actor of the class, whoever requested them",
		direct: atScrape},
	{name: "mcpd_actor_timers", kind: gauge, labels: []string{"class"},
		help: "Timers of actors of the class that have not fired", direct: atScrape},
	{name: "mcpd_actor_pending_replies", kind: gauge, labels: []string{"class"},
		help: "Calls that actors of the class have accepted and not answered", direct: atScrape},
	{name: "mcpd_supervisor_escalations_total", kind: counter, labels: none,
		help: "Times a supervisor exceeded its restart intensity and left the decision to its parent",
		from: []eventSource{countOf(func(IntensityExceeded) []string { return none })}},

	// The host.
	{name: "mcpd_queue_high_water", kind: gauge, labels: []string{"queue"},
		help:   "High-water mark of the queues of the kind; docs/limits.gen.md has the kinds",
		direct: atScrape},
	{name: "mcpd_queue_limit", kind: gauge, labels: []string{"queue"},
		help: "Limit of a queue of the kind", direct: atScrape},
	{name: "mcpd_reserved_bytes", kind: gauge, labels: []string{"budget"}, unit: "bytes",
		help: "Bytes that are reserved from byte budgets, of all tenants together", direct: atScrape},
	{name: "mcpd_events_dropped_total", kind: counter, labels: none,
		help: "Events that found the log's queue full",
		from: []eventSource{valueOf(func(e EventsDropped) (float64, []string) {
			return float64(e.Count), none
		})}},
	{name: "mcpd_config_generation", kind: gauge, labels: none,
		help: "Generation of the configuration in force",
		from: []eventSource{valueOf(func(e ConfigLoaded) (float64, []string) {
			return float64(e.Generation), none
		})}},
	{name: "mcpd_kept_bytes", kind: gauge, labels: []string{"tenant", "kind"}, unit: "bytes",
		help: "Bytes that a tenant keeps, by kind: requests in flight or being read, sessions, lists " +
			"and so on",
		direct: atScrape},
	{name: "mcpd_kept_records", kind: gauge, labels: []string{"kind"},
		help: "Records that are kept for later use: parked sessions with servers, absent listeners, " +
			"known servers, and their ready connections and open questions; and streams of browsers that " +
			"only wait", direct: atScrape},
	{name: "mcpd_overload_level", kind: gauge, labels: none,
		help: "How much of its memory the host uses: 0 normal, 1 elevated; for tenants above their " +
			"share 2 high (no new sessions) and 3 critical (no new calls); for all tenants 4 exhausted",
		zero: true,
		from: []eventSource{valueOf(func(e MemoryLevel) (float64, []string) {
			return float64(e.Step), none
		})}},
	{name: "mcpd_tls_certificate_expiry_seconds", kind: gauge, labels: none, unit: "seconds",
		help: "Time until the certificate of the MCP listener, or one of its chain, expires; negative " +
			"if it has expired", direct: atScrape},
	{name: "mcpd_config_info", kind: gauge, labels: []string{"hash"},
		help: "Digest of the configuration in force, always 1", direct: atScrape},
	{name: "mcpd_config_last_reload_successful", kind: gauge, labels: none,
		help: "1 if the last reload, or the start, has applied the file; 0 if it was refused",
		from: []eventSource{
			valueOf(func(ConfigLoaded) (float64, []string) { return 1, none }),
			valueOf(func(ConfigRejected) (float64, []string) { return 0, none }),
		}},
	{name: "mcpd_config_last_reload_success_timestamp_seconds", kind: gauge, labels: none,
		unit: "seconds",
		help: "Time of the last reload that was not refused, or of the start, since 1970",
		from: []eventSource{valueOf(func(e ConfigLoaded) (float64, []string) {
			return float64(e.At), none
		})}},
	{name: "mcpd_chaos_faults_active", kind: gauge, labels: none,
		help: "Faults that are armed", direct: atScrape},
	{name: "mcpd_chaos_faults_struck_total", kind: counter, labels: []string{"action"},
		help: "Strikes of armed faults, at most one a second for each fault that is not a panic",
		from: []eventSource{countOf(func(e FaultHit) []string { return []string{e.Action} })}},
}

// buckets are the upper bounds of the histograms. The first set is that of OpenTelemetry for MCP.
// The second set resolves the overhead of the host, which is below the lowest bound of the first.
var buckets = map[string][]float64{
	"": {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30,
		60, 120, 300},
	"mcpd_gateway_overhead_seconds": {0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01,
		0.05, 0.1, 0.5, 1},
	"mcpd_actor_restart_duration_seconds": {0.00002, 0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.005,
		0.01, 0.1, 0.5, 1, 5},
	"mcp_server_session_duration_seconds": {1, 10, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 24 * 3600},
}

func orWord(s, word string) string {
	if s == "" {
		return word
	}
	return s
}

func restartMode(e ChildRestarted) string {
	if e.InPlace {
		return "in_place"
	}
	return "new_process"
}

func crashReason(e ChildCrashed) string {
	switch {
	case e.Injected != "":
		return "injected"
	case e.Report != nil && errors.Is(e.Report, otp.ErrStuck):
		return "stuck"
	case e.Report != nil && len(e.Report.PCs) > 0:
		return "panic"
	}
	return "error"
}

func codeLabel(code int64) string { return strconv.FormatInt(code, 10) }
