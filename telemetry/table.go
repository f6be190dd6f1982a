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
	{ChildExited{}, "child_exited", debug, "child ended", false, rare, "an ordinary end"},
	{ChildCrashed{}, "child_crashed", fail, "child crashed", true, rare,
		"an abnormal end: a panic, an error, or no end within its time"},
	{ChildRestarted{}, "child_restarted", info, "child restarted", false, rare,
		"a new instance is ready"},
	{StartFailed{}, "start_failed", fail, "child did not start", true, rare,
		"an instance did not become ready"},
	{IntensityExceeded{}, "intensity_exceeded", fail, "supervisor gives up: too many restarts", true,
		rare, "the supervisor stops its children and leaves the decision to its parent"},
	{SupervisorStopped{}, "supervisor_stopped", info, "supervisor stopped", false, rare,
		"a supervisor and all below it has ended"},
	{Abandoned{}, "abandoned", fail, "child did not stop in time and was fenced off", true, rare,
		"it still runs; what it does has no effect"},
	{ActorStuck{}, "actor_stuck", warn, "actor is stuck at one message", false, rare,
		"nothing is done about it until its hard deadline, when it is fenced off and replaced"},
	{Overloaded{}, "overloaded", warn, "mailbox full: messages refused", false, peer,
		"one event for all refusals until the mailbox was empty again"},
	{StateDropped{}, "state_dropped", warn, "state of an earlier instance was dropped", false, rare,
		"a bug left it unsound: whoever waited for it got an error, and the rest goes on"},
	{TerminatePanicked{}, "terminate_panicked", fail, "child panicked while it ended", true, rare,
		"the end went on"},

	{ChildPaused{}, "child_paused", fail, "child ends too often: it is paused", true, rare,
		"it is started again when the pause is over; its siblings go on, and readiness says degraded"},
	{CrashCharged{}, "crash_charged", warn, "crash is charged to a tenant", false, rare,
		"a message of the tenant has crashed what all tenants share; the second within ten seconds " +
			"pauses the tenant"},

	{TenantPaused{}, "tenant_paused", fail, "tenant ended by itself: it is paused", true, rare,
		"it is started again when the pause is over; meanwhile its clients get 503"},
	{TenantQuarantined{}, "tenant_quarantined", fail, "tenant is quarantined", true, rare,
		"it is started again for a rare probe, or not before an operator releases it"},
	{TenantResumed{}, "tenant_resumed", info, "tenant is started again", false, rare,
		"its pause is over, or it is probed"},
	{TenantReleased{}, "tenant_released", info, "tenant is released", false, rare,
		"by a probe that lasted, or by an operator"},
	{TenantRestarted{}, "tenant_restarted", info, "tenant restarted by an operator", false, rare,
		"its ends are forgotten"},

	{UpstreamStarting{}, "upstream_starting", info, "upstream starting", false, rare,
		"a server is spawned or connected to"},
	{UpstreamReady{}, "upstream_ready", info, "upstream ready", false, rare,
		"handshake done, lists known, subscriptions restored"},
	{UpstreamExited{}, "upstream_exited", warn, "upstream exited", true, rare,
		"a server ended or its connection broke"},
	{UpstreamAsleep{}, "upstream_asleep", info, "upstream ended: nothing needs it", false, rare,
		"the next call starts it again; see idle_stop"},
	{UpstreamClosed{}, "upstream_closed", debug, "connection closed: nobody uses it", false, rare,
		"idle_release: its session's client is silent; unused: no session uses it; idle_instance: an " +
			"instance beyond the first has no call. It is made again for whoever needs it"},
	{UpstreamStartFailed{}, "upstream_start_failed", warn, "upstream did not start", true, rare,
		"a server did not become ready"},
	{UpstreamCrashLoop{}, "upstream_crash_loop", fail, "upstream is in a crash loop", true, rare,
		"it ended too often and is down until the host or an operator tries again"},
	{UpstreamStateChanged{}, "upstream_state_changed", debug, "upstream changed its state", false,
		rare,
		"what the tree shows of it: the best of its connections, and whether anything is wrong with " +
			"the others"},
	{UpstreamQuarantined{}, "upstream_quarantined", fail, "upstream is quarantined", true, rare,
		"it is not started again but for a rare probe, or not before an operator releases it"},
	{UpstreamReleased{}, "upstream_released", info, "upstream is released from its quarantine", false,
		rare, "it is started again like any other"},
	{UpstreamRestarted{}, "upstream_restarted", info, "upstream restarted by an operator", false, rare,
		"its connections were ended and are started again; pauses and quarantine are forgotten"},
	{UpstreamNoise{}, "upstream_noise", warn, "upstream wrote lines that are not JSON-RPC", false,
		peer, "they were skipped; usually a log line on standard output"},
	{UpstreamPaced{}, "upstream_paced", warn, "upstream says more than is read: it waits", false, peer,
		"notifications, questions, or answers that nobody asked for; docs/limits.gen.md has their " +
			"pace. Its answers come later"},
	{CallsWait{}, "calls_wait", warn,
		"calls wait for users who are asked something during other calls", false, peer,
		"there are as many instances of the server as there may be; told once, until none waits"},
	{QuestionGivenUp{}, "question_given_up", warn,
		"a question of a server is given up: calls wait behind it", false, peer,
		"the server is told that nobody answers"},
	{UpstreamStderr{}, "upstream_stderr", debug, "upstream wrote to its standard error", false, peer,
		"its own log, as far as a person could follow it"},
	{UpstreamUnlimited{}, "upstream_unlimited", warn, "upstream is not limited as configured", false,
		rare, "max_memory and max_processes need a control group that mcpd may write"},
	{ToolsInvalid{}, "tools_invalid", warn,
		"tools are left out of the list: their schemas are invalid", false, peer,
		"the server lists arguments to be repeated in header fields that cannot be (x-mcp-header)"},
	{ListCut{}, "list_cut", warn,
		"a list of a server, or what it says of itself, is cut: it exceeds a bound", false, peer,
		"once for each list and bound; docs/limits.gen.md has them"},
	{ItemsOdd{}, "items_odd", warn,
		"items of a server's list are not what the schemas allow: the list of all servers has them " +
			"repaired, or leaves them out", false, peer,
		"once for each list and action; the list of that server alone has them as they are"},
	{OrphansEnded{}, "orphans_ended", warn, "processes that were left behind have been ended", false,
		rare, "nothing of a server stays when its time is over, nor of an earlier mcpd"},
	{OrphansSurvived{}, "orphans_survived", fail,
		"processes that an earlier mcpd left behind outlive SIGKILL", false, rare,
		"they are stuck in the kernel, and end when it lets them go"},
	{GuardLost{}, "guard_lost", warn, "the guard process has ended", false, rare,
		"it ends what is left of the servers when mcpd is killed; another one is started"},

	{SessionOpened{}, "session_opened", debug, "session opened", false, peer,
		"a client and the host have agreed"},
	{SessionClosed{}, "session_closed", info, "session closed", false, peer, "the end of a session"},
	{ProtocolNegotiation{}, "protocol_negotiation", info, "protocol negotiated", false, peer,
		"which revision a client asked for and which was agreed (S4-138)"},
	{VersionLowered{}, "version_lowered", warn, "client speaks a newer revision than was agreed",
		false, peer, "newer features are off in this session"},
	{PhaseChanged{}, "phase_changed", debug, "phase changed", false, peer,
		"a step in the lifecycle of a connection"},
	{RequestPanicked{}, "request_panicked", fail, "the handler of a request crashed", true, peer,
		"the request ends, and with HTTP/1.1 its connection; nothing else does"},
	{Rejected{}, "rejected", info, "request rejected", false, peer,
		"refused before it reached a server"},
	{NotificationDropped{}, "notification_dropped", info, "notification dropped", false, peer,
		"a notification that nobody will get"},
	{ReplyDropped{}, "reply_dropped", debug, "reply dropped", false, peer,
		"a reply that nobody waits for any more, or that its server does not read"},

	{ListenerUp{}, "listener_up", info, "listening", false, rare, "a listener accepts connections"},
	{CertificateRenewed{}, "certificate_renewed", info, "certificate renewed", false, rare,
		"new connections get what tls.cert and tls.key have now"},
	{CertificateDoubted{}, "certificate_doubted", warn,
		"certificate is refused by clients, or soon will be", false, rare,
		"it is expired or about to, its chain is not complete, or the next one cannot be used; told " +
			"once a day"},
	{ConfigLoaded{}, "config_loaded", info, "configuration loaded", false, rare,
		"a configuration is in force"},
	{ConfigDoubted{}, "config_doubted", warn, "configuration is hardly what was meant", false, rare,
		"it is in force all the same; `mcpd config check` says so too"},
	{ConfigRejected{}, "config_rejected", fail, "configuration refused", false, rare,
		"a reload has changed nothing: what applied before still does"},
	{RestartRefused{}, "restart_refused", fail, "program not started again", false, rare,
		"the program at the host's path cannot be run or refuses the configuration; this host serves " +
			"as before"},
	{Draining{}, "draining", info, "draining", false, rare,
		"no new sessions; clients may finish what they have begun"},
	{SafeMode{}, "safe_mode", fail, "safe mode: only the admin listener serves", true, rare,
		"the host crashed too often"},
	{StateLost{}, "state_lost", warn, "a part of the state was not readable", true, rare,
		"what was readable is in use"},
	{RecordDropped{}, "record_dropped", warn, "a stored value was dropped", false, peer,
		"it is broken, of another version, or of what is not served any more"},
	{RecordSetAside{}, "record_set_aside", fail,
		"a stored record crashed whoever read it: it is set aside", true, rare,
		"what reads it goes on without it, and readiness says degraded until the next start; up to 64 " +
			"are kept in the state, and never read again"},
	{StateNotWritten{}, "state_not_written", fail, "the state cannot be written", true, rare,
		"sessions go on, and would not survive the host"},
	{StateWritten{}, "state_written", info, "the state is written again", false, rare,
		"and all that had waited for it"},
	{MemoryLevel{}, "memory_level", warn, "memory level changed", false, rare,
		"how much memory is in use, and with that which new work is refused"},
	{TenantRefused{}, "tenant_refused", warn, "tenant keeps too much", false, rare,
		"a tenant was refused because of what it keeps; told every 10 s at most"},
	{FaultArmed{}, "fault_armed", warn, "fault armed", false, rare, "something will break on purpose"},
	{FaultRenewed{}, "fault_renewed", debug, "fault renewed", false, rare,
		"who armed it is still there"},
	{FaultDisarmed{}, "fault_disarmed", info, "fault healed", false, rare,
		"somebody ended it, it was used up, or its lease ended"},
	{FaultHit{}, "fault_hit", warn, "fault struck", true, rare,
		"something was broken on purpose; at most once a second for what is no panic"},
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
