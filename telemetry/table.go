package telemetry

import (
	"log/slog"
	"reflect"
)

// row says how one event is shown.
type row struct {
	event   Event
	name    string
	level   slog.Level
	message string
	// opens says whether it opens an incident when its row of the tree has none.
	opens   bool
	lines   int // maximum of log lines a second; further lines are counted
	meaning string
}

// Log lines a second, by kind of event. Events of a row of the tree or of a server are rare and
// every line counts. Events that a peer can cause at will are bounded, so that they cannot fill a
// disk or hide the rest.
const (
	rare = 200
	peer = 20
)

const (
	debug = slog.LevelDebug
	info  = slog.LevelInfo
	warn  = slog.LevelWarn
	fail  = slog.LevelError
)

// events is the table. A crash reads, from top to bottom, as: crashed, exceeded, stopped,
// restarted, starting, ready, all with the same incident.
var events = []row{
	{ChildStarted{}, "child_started", debug, "child started", false, rare,
		"a row of the tree is ready for the first time"},
	{ChildExited{}, "child_exited", debug, "child ended", false, rare, "a normal end"},
	{ChildCrashed{}, "child_crashed", fail, "child crashed", true, rare,
		"an abnormal end: a panic, an error, or a stop that took too long"},
	{ChildRestarted{}, "child_restarted", info, "child restarted", false, rare,
		"a new instance is ready"},
	{StartFailed{}, "start_failed", fail, "child did not start", true, rare,
		"an instance did not become ready"},
	{IntensityExceeded{}, "intensity_exceeded", fail, "supervisor gives up: too many restarts", true,
		rare, "the supervisor stops its children and leaves the decision to its parent"},
	{SupervisorStopped{}, "supervisor_stopped", info, "supervisor stopped", false, rare,
		"a supervisor and everything below it have ended"},
	{Abandoned{}, "abandoned", fail, "child did not stop in time and was isolated", true, rare,
		"its goroutine still runs, but what it does has no effect"},
	{ActorStuck{}, "actor_stuck", warn, "actor is stuck at one message", false, rare,
		"at its hard deadline the actor is isolated and replaced; nothing is done before that"},
	{Overloaded{}, "overloaded", warn, "mailbox full: messages refused", false, peer,
		"one event stands for all refusals until the mailbox is empty again"},
	{StateDropped{}, "state_dropped", warn, "state of an earlier instance was dropped", false, rare,
		"a bug left the state inconsistent: callers that waited for it got an error, and the rest " +
			"continues"},
	{TerminatePanicked{}, "terminate_panicked", fail, "child panicked while it ended", true, rare,
		"the child ended nevertheless"},

	{ChildPaused{}, "child_paused", fail, "child ends too often: it is paused", true, rare,
		"it is started again after the pause; its siblings continue, and readiness reports degraded"},
	{CrashCharged{}, "crash_charged", warn, "crash is charged to a tenant", false, rare,
		"a message of the tenant crashed a component that all tenants share; a second crash within ten " +
			"seconds pauses the tenant"},

	{TenantPaused{}, "tenant_paused", fail, "tenant ended by itself: it is paused", true, rare,
		"it is started again after the pause; meanwhile its clients get 503"},
	{TenantQuarantined{}, "tenant_quarantined", fail, "tenant is quarantined", true, rare,
		"it is started only for a rare probe, or not until an operator releases it"},
	{TenantResumed{}, "tenant_resumed", info, "tenant is started again", false, rare,
		"its pause is over, or it is probed"},
	{TenantReleased{}, "tenant_released", info, "tenant is released", false, rare,
		"a probe kept running, or an operator released it"},
	{TenantRestarted{}, "tenant_restarted", info, "tenant restarted by an operator", false, rare,
		"its failures are forgotten"},

	{UpstreamStarting{}, "upstream_starting", info, "upstream starting", false, rare,
		"a server is spawned or connected to"},
	{UpstreamReady{}, "upstream_ready", info, "upstream ready", false, rare,
		"handshake done, lists known, subscriptions restored"},
	{UpstreamExited{}, "upstream_exited", warn, "upstream exited", true, rare,
		"a server ended or its connection broke"},
	{UpstreamAsleep{}, "upstream_asleep", info, "upstream ended: nothing needs it", false, rare,
		"the next call starts it again; see idle_stop"},
	{UpstreamClosed{}, "upstream_closed", debug, "connection closed: nobody uses it", false, rare,
		"idle_release: the client of its session is silent; unused: no session uses it; idle_instance: " +
			"an instance beyond the first has no call. It is made again when it is needed"},
	{UpstreamStartFailed{}, "upstream_start_failed", warn, "upstream did not start", true, rare,
		"a server did not become ready"},
	{UpstreamCrashLoop{}, "upstream_crash_loop", fail, "upstream is in a crash loop", true, rare,
		"it ended too often and is down until the host or an operator tries again"},
	{UpstreamStateChanged{}, "upstream_state_changed", debug, "upstream changed its state", false,
		rare,
		"the state that the tree shows: that of the best connection, and whether the others have a " +
			"problem"},
	{UpstreamQuarantined{}, "upstream_quarantined", fail, "upstream is quarantined", true, rare,
		"a server is started only for a rare probe, or not until an operator releases it"},
	{UpstreamReleased{}, "upstream_released", info, "upstream is released from its quarantine", false,
		rare, "it is started again like any other"},
	{UpstreamRestarted{}, "upstream_restarted", info, "upstream restarted by an operator", false, rare,
		"its connections were ended and are started again; pauses and quarantine are forgotten"},
	{UpstreamNoise{}, "upstream_noise", warn, "upstream wrote lines that are not JSON-RPC", false,
		peer, "the lines were skipped; usually they are log lines on standard output"},
	{UpstreamPaced{}, "upstream_paced", warn,
		"upstream is rate-limited: it sends more than the host reads", false, peer,
		"it sends notifications, questions or unsolicited answers too fast; docs/limits.gen.md has the " +
			"rates. Its other answers are delayed"},
	{CallsWait{}, "calls_wait", warn,
		"calls wait for users who are asked something during other calls", false, peer,
		"the server has its maximum number of instances; reported once, until no call waits"},
	{QuestionGivenUp{}, "question_given_up", warn,
		"question of a server is dropped: calls wait behind it", false, peer,
		"the server is told that nobody answers"},
	{UpstreamStderr{}, "upstream_stderr", debug, "upstream wrote to its standard error", false, peer,
		"its own log, at a rate that a person can follow"},
	{UpstreamUnlimited{}, "upstream_unlimited", warn, "upstream is not limited as configured", false,
		rare, "max_memory and max_processes need a control group that mcpd may write"},
	{ToolsInvalid{}, "tools_invalid", warn,
		"tools are left out of the list: their schemas are invalid", false, peer,
		"the server marks arguments for header fields (x-mcp-header) that cannot be sent in one"},
	{ListCut{}, "list_cut", warn,
		"a list of a server, or its description of itself, is cut: it exceeds a limit", false, peer,
		"once for each list and limit; docs/limits.gen.md has the limits"},
	{ItemsOdd{}, "items_odd", warn,
		"items of a server's list violate the schemas: the list of all servers repairs them or leaves " +
			"them out", false, peer,
		"once for each list and action; the list of that server alone has them unchanged"},
	{OrphansEnded{}, "orphans_ended", warn, "processes that were left behind have been ended", false,
		rare, "no process of a stopped server or of an earlier mcpd keeps running"},
	{OrphansSurvived{}, "orphans_survived", fail,
		"processes that an earlier mcpd left behind outlive SIGKILL", false, rare,
		"they are blocked in the kernel, and end when the kernel releases them"},
	{GuardLost{}, "guard_lost", warn, "the guard process has ended", false, rare,
		"the guard ends the remaining server processes when mcpd is killed; a new one is started"},

	{SessionOpened{}, "session_opened", debug, "session opened", false, peer,
		"a client and the host have completed the handshake"},
	{SessionClosed{}, "session_closed", info, "session closed", false, peer, "the end of a session"},
	{ProtocolNegotiation{}, "protocol_negotiation", info, "protocol negotiated", false, peer,
		"which revision a client asked for and which was agreed (S4-138)"},
	{VersionLowered{}, "version_lowered", warn, "client speaks a newer revision than was agreed",
		false, peer, "newer features are off in this session"},
	{PhaseChanged{}, "phase_changed", debug, "phase changed", false, peer,
		"a step in the lifecycle of a connection"},
	{RequestPanicked{}, "request_panicked", fail, "the handler of a request crashed", true, peer,
		"the request ends, and with HTTP/1.1 its connection; nothing else is affected"},
	{Rejected{}, "rejected", info, "request rejected", false, peer,
		"refused before it reached a server"},
	{NotificationDropped{}, "notification_dropped", info, "notification dropped", false, peer,
		"a notification that is not delivered"},
	{ReplyDropped{}, "reply_dropped", debug, "reply dropped", false, peer,
		"a reply that nobody waits for any more, or that its server does not read"},

	{ListenerUp{}, "listener_up", info, "listening", false, rare, "a listener accepts connections"},
	{CertificateRenewed{}, "certificate_renewed", info, "certificate renewed", false, rare,
		"new connections use the current tls.cert and tls.key"},
	{CertificateDoubted{}, "certificate_doubted", warn,
		"certificate is refused by clients, or soon will be", false, rare,
		"it has expired or soon will, its chain is incomplete, or the next one cannot be used; " +
			"reported once a day"},
	{ConfigLoaded{}, "config_loaded", info, "configuration loaded", false, rare,
		"a configuration is in force"},
	{ConfigDoubted{}, "config_doubted", warn, "configuration is probably not what was intended",
		false, rare,
		"it is in force nevertheless; `mcpd config check` reports this too"},
	{ConfigRejected{}, "config_rejected", fail, "configuration refused", false, rare,
		"a reload changed nothing: the previous configuration stays in effect"},
	{RestartRefused{}, "restart_refused", fail, "program not started again", false, rare,
		"the program at the host's path cannot be run or refuses the configuration; this host " +
			"continues to serve"},
	{Draining{}, "draining", info, "draining", false, rare,
		"no new sessions; clients may finish what they have begun"},
	{SafeMode{}, "safe_mode", fail, "safe mode: only the admin listener serves", true, rare,
		"the host crashed too often"},
	{StateLost{}, "state_lost", warn, "a part of the state was not readable", true, rare,
		"the readable part is in use"},
	{RecordDropped{}, "record_dropped", warn, "a stored value was dropped", false, peer,
		"it is broken, of another version, or of something that is no longer served"},
	{RecordSetAside{}, "record_set_aside", fail,
		"a stored record crashed its reader: it is set aside", true, rare,
		"its reader continues without it, and readiness reports degraded until the next start; up to " +
			"64 such records are kept in the state, and never read again"},
	{StateNotWritten{}, "state_not_written", fail, "the state cannot be written", true, rare,
		"sessions continue, but would not survive a restart of the host"},
	{StateWritten{}, "state_written", info, "the state is written again", false, rare,
		"including everything that had waited for it"},
	{MemoryLevel{}, "memory_level", warn, "memory level changed", false, rare,
		"how much memory is in use, which decides what new work is refused"},
	{TenantRefused{}, "tenant_refused", warn, "tenant keeps too much", false, rare,
		"a tenant was refused because of the memory that it keeps; reported every 10 s at most"},
	{FaultArmed{}, "fault_armed", warn, "fault armed", false, rare, "something will break on purpose"},
	{FaultRenewed{}, "fault_renewed", debug, "fault renewed", false, rare,
		"the client that armed it has renewed its lease"},
	{FaultDisarmed{}, "fault_disarmed", info, "fault healed", false, rare,
		"somebody ended it, it was used up, or its lease ended"},
	{FaultHit{}, "fault_hit", warn, "fault struck", true, rare,
		"something was broken on purpose; reported at most once a second, unless it is a panic"},
	{EventsDropped{}, "events_dropped", warn, "events dropped: the queue was full", false, rare,
		"these events were counted by their metrics but are in no log"},
}

// byType maps the type of an event to the index of its row in events.
var byType = func() map[reflect.Type]int {
	m := make(map[reflect.Type]int, len(events))
	for i, r := range events {
		m[reflect.TypeOf(r.event)] = i
	}
	return m
}()
