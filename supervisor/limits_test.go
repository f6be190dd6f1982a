package supervisor

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"mcpd/gateway/config"
)

//go:generate go test -run ^TestLimitsAreDocumented$ . -update

// bounded lists what has to be bounded, and the gauges of its bounds.
var bounded = []struct{ label, gauges string }{
	{"connections: total, of an address, of a tenant",
		"connections max_address_connections max_connections tenant_connections unknown_bytes " +
			"address_unknown_bytes socket_buffer_bytes"},
	{"time for the header fields, and for the TLS handshake", "header_timeout_seconds"},
	{"time for the body", "body_timeout_seconds"},
	{"time unused", "idle_timeout_seconds"},
	{"size and number of header fields, length of the URL",
		"max_header_bytes max_headers max_url_bytes"},
	{"size of a request", "max_body_bytes"},
	{"a server's message, a line of its standard error",
		"upstream_message_bytes line_bytes question_id_bytes answer_batch"},
	{"JSON: depth, tokens, keys",
		"max_depth max_tokens max_members max_answer_depth max_answer_members json_digits"},
	{"arrays of messages", "max_batch"},
	{"`_meta`", "meta_bytes meta_depth meta_keys"},
	{"ids", "max_id_bytes"},
	{"HTTP/2: streams, resets, unread bytes",
		"max_http2_streams http2_resets http2_request_bytes http2_connection_bytes http2_answer_bytes"},
	{"in flight: of a session, principal, tenant, server",
		"max_session_pending max_principal_pending max_pending"},
	{"requests a second: of a principal, of a tenant", "max_principal_rate max_rate"},
	{"retries", "retry_percent retries_at_once least_retries"},
	{"sessions: of a principal, of a tenant, of all",
		"max_principal_sessions max_sessions max_total_sessions"},
	{"clients without a session: of a principal", "peers capability_sets recorded_bytes"},
	{"the life of a session", "session_init_seconds session_idle_seconds session_age_seconds"},
	{"initialize a second: of a principal, of a tenant",
		"max_principal_initialize_rate max_initialize_rate"},
	{"streams of a session, subscriptions of a request",
		"max_streams browser_streams listens listen_uris subscribed_bytes references references_bytes " +
			"uri_bytes"},
	{"events that wait for a client, time without reading",
		"max_stream_events max_stream_size_bytes stall_timeout_seconds"},
	{"keep-alives, age of a stream", "keep_alive_seconds stream_age_seconds"},
	{"events that are kept for a resumption",
		"max_history_bytes max_total_history_bytes history_time_seconds saved_history_bytes"},
	{"tasks", "tasks_of_principal tasks_of_tenant task_ttl_seconds"},
	{"time of a call", "call_timeout_seconds call_timeout_max_seconds input_timeout_seconds " +
		"question_wait_seconds request_timeout_seconds list_timeout_seconds list_grace_seconds " +
		"question_hold_seconds restore_wait_seconds first_answers_seconds first_rest_seconds " +
		"refused_answer_seconds gone_after_seconds list_wait_seconds changes_quiet_seconds " +
		"changes_most_seconds start_timeout_seconds"},
	{"questions that come over several connections", "decline_wait_seconds asked_questions"},
	{"servers that were removed", "removed_servers"},
	{"a server that is away", "away_grace_seconds away_dial_seconds trouble_statuses log_samples"},
	{"unsolicited messages of a server", "news_at_once news_per_second deliveries_at_once echoes"},
	{"progress of a call", "progress_at_once progress_per_second"},
	{"tools that ask their user", "askers"},
	{"elicitations whose end is awaited", "elicitations elicitations_of_session"},
	{"questions of servers before any session", "early_questions"},
	{"notifications of extensions to servers", "telling untold"},
	{"lists of servers", "list_pages list_bytes tools tool_bytes description_bytes " +
		"instructions_bytes capabilities_bytes stamp_bytes item_depth"},
	{"redirects of a server", "redirects"},
	{"session ids that a server replaces", "stale_sessions"},
	{"certificates of authorities", "ca_bytes"},
	{"certificate of the listener, or its key", "pem_bytes"},
	{"schemas of tools", "schema_bytes bundled_bytes"},
	{"failed authentications", "max_auth_failures"},
	{"child processes: memory, processes, files",
		"child_files child_file_size_bytes child_memory_bytes child_processes"},
	{"starts of child processes", "starting starts_at_once starts_per_second"},
	{"stored records that crashed their readers", "records_aside"},
	{"messages of a tenant that a shared component defers", "held_messages"},
	{"memory", "memory_bytes kept_bytes tenant_kept_bytes tenant_answers_bytes tenant_bodies_bytes " +
		"tenant_waiting_bodies spare_bytes"},
	{"servers that are not needed", "idle_stop_seconds idle_release_seconds instance_rest_seconds"},
	{"shutdown of the host", "drain_seconds drain_settle_seconds"},
	{"log lines", "log_lines_at_once log_lines_per_second"},
	{"lines of programs that are not messages", "stray_bytes"},
	{"ids of requests to a server", "request_id"},
	{"`mcpd stdio` while its host is away",
		"bridge_wait_seconds stream_resume_seconds bridge_held bridge_kept_bytes bridge_questions"},
}

// enforced names, for each gauge, a test that fails when the bound is not kept.
// cmd/mcpd.TestLimitsAreShown checks that these tests exist.
var enforced = map[string]string{
	"connections": "transport/streamable.TestConnectionsAreCountedAndBounded " +
		"transport/streamable.TestNewConnectionsEvictIdleOnes",
	"tenant_connections": "transport/streamable.TestConnectionsAreSharedOut " +
		"internal/interop.TestConnectionsEndOfOneTenant",
	"unknown_bytes":         "transport/streamable.TestUnknownConnectionsAreBounded",
	"address_unknown_bytes": "transport/streamable.TestUnknownConnectionsOfAnAddressAreBounded",
	"max_address_connections": "transport/streamable.TestConnectionsOfAnAddressAreBounded " +
		"internal/interop.TestLimitsAreKept",
	"max_connections": "transport/streamable.TestConnectionsThatServeOneAreBounded " +
		"internal/interop.TestLimitsAreKept",
	"socket_buffer_bytes":    "supervisor.TestSocketBuffersAreBounded",
	"header_timeout_seconds": "transport/streamable.TestIdleConnectionsAreClosed",
	"idle_timeout_seconds":   "transport/streamable.TestIdleConnectionsAreClosed",
	"max_http2_streams":      "transport/streamable.TestHTTP2StreamsAreBounded",
	"http2_resets":           "transport/streamable.TestRapidResetEndsTheConnection",
	"http2_request_bytes":    "transport/streamable.TestBodiesThatWaitLeaveHTTP2ToOthers",
	"http2_connection_bytes": "transport/streamable.TestBodiesThatWaitLeaveHTTP2ToOthers",
	"http2_answer_bytes": "transport/streamable.TestAnswersThatWaitOverHTTP2 " +
		"supervisor.TestWindowFollowsTheMemory",

	"max_header_bytes": "transport/streamable.TestEdgeRefusals",
	"max_headers": "transport/streamable.TestEdgeRefusals " +
		"transport/streamable.TestBoundsAreOptions",
	"max_url_bytes": "transport/streamable.TestEdgeRefusals " +
		"transport/streamable.TestBoundsAreOptions",
	"max_body_bytes": "transport/streamable.TestEdgeRefusals",
	"body_timeout_seconds": "transport/streamable.TestSlowBodyIsCutOff " +
		"transport/streamable.TestBodyTimeGrowsWithWhatArrives transport/streamable.TestOvertimeOfABody",
	"max_depth": "protocol/jsonrpc.TestDecodeLimits " +
		"transport/streamable.TestBoundsAreOptions",
	"max_tokens": "protocol/jsonrpc.TestDecodeLimits " +
		"transport/streamable.TestBoundsAreOptions",
	"max_answer_depth": "protocol.TestAnswerLimits " +
		"transport/stdio.TestBrokenAnswerFailsItsRequestOnly",
	"max_answer_members": "protocol.TestAnswerLimits " +
		"transport/stdio.TestBrokenAnswerFailsItsRequestOnly",
	"max_members": "protocol/jsonrpc.TestDecodeLimits " +
		"transport/streamable.TestBoundsAreOptions",
	"json_digits": "protocol/jsonrpc.TestDecodeLimits",
	"max_batch": "protocol/jsonrpc.TestDecodeLimits " +
		"transport/streamable.TestBoundsAreOptions",
	"max_id_bytes": "protocol/jsonrpc.TestDecodeLimits " +
		"transport/streamable.TestBoundsAreOptions",
	"decline_wait_seconds":    "actors/client.TestQuestionIsLeftToWhoCanAsk",
	"asked_questions":         "actors/client.TestAskedQuestionsAreBounded",
	"away_grace_seconds":      "actors/client.TestCallsWaitForAServerThatIsAway",
	"log_samples":             "telemetry.TestRefusalsOfOneIncidentAreSampled",
	"trouble_statuses":        "actors/client.TestEachStatusOfATroubleIsToldOnce",
	"removed_servers":         "gateway/tenant.TestRemovedServersAreRemembered",
	"away_dial_seconds":       "actors/catalog.TestServerThatIsAwayIsDialledByOne",
	"elicitations":            "protocol/elicitation.TestTableIsBounded",
	"elicitations_of_session": "protocol/elicitation.TestTableIsBounded",

	"meta_bytes": "protocol.TestMetaIsBounded",
	"meta_depth": "protocol.TestMetaIsBounded",
	"meta_keys":  "protocol.TestMetaIsBounded",

	"max_session_pending":   "actors/server.TestSessionIsBounded",
	"max_principal_pending": "actors/request.TestPrincipalIsBounded internal/interop.TestLimitsAreKept",
	"max_pending":           "actors/request.TestFullManagerRefuses",
	"max_principal_rate": "gateway/quota.TestRatesOfATenantAndItsPrincipals " +
		"internal/interop.TestLimitsAreKept",
	"max_rate": "gateway/quota.TestRatesOfATenantAndItsPrincipals " +
		"internal/interop.TestLimitsAreKept",
	"retry_percent": "gateway/quota.TestRetriesAreAShareOfWhatIsSent " +
		"actors/client.TestReplaysAreBounded",
	"retries_at_once": "gateway/quota.TestRetriesAreAShareOfWhatIsSent",
	"least_retries": "gateway/quota.TestRetriesAreAShareOfWhatIsSent " +
		"actors/client.TestReplaysAreBounded",
	"max_auth_failures": "gateway/quota.TestFailingAddressHasToWait internal/interop.TestLimitsAreKept",

	"max_principal_sessions": "actors/session.TestSessionsOfAPrincipalAreBounded " +
		"actors/session.TestPrincipalsShareTheSessionsOfTheirTenant internal/interop.TestLimitsAreKept",
	"max_sessions": "actors/session.TestLongestIdleSessionMakesRoom " +
		"actors/session.TestBusySessionsStay",
	"max_total_sessions": "actors/session.TestTenantsShareTheSessionsOfTheHost " +
		"internal/interop.TestRunningWorkIsNotEnded",
	"peers": "actors/session.TestPeersAreBounded " +
		"internal/interop.TestManyKindsOfClients",
	"capability_sets": "actors/session.TestSetsOfAPrincipalAreBounded " +
		"internal/interop.TestManyKindsOfClients",
	"max_principal_initialize_rate": "internal/interop.TestLimitsAreKept",
	"max_initialize_rate":           "internal/interop.TestLimitsAreKept",
	"session_init_seconds":          "actors/server.TestSessionThatIsNotInitializedInTimeEnds",
	"session_idle_seconds":          "actors/session.TestIdleSessionsEndInTime",
	"session_age_seconds":           "actors/session.TestOldSessionsEnd",

	"listens":                 "actors/server.TestListensAreBounded",
	"browser_streams":         "transport/streamable.TestStreamsOfABrowserAreBounded",
	"max_streams":             "transport/streamable.TestGETRefusals",
	"max_stream_events":       "transport/streamable.TestPendingMessagesAreBounded",
	"max_stream_size_bytes":   "transport/streamable.TestPendingMessagesAreBounded",
	"stall_timeout_seconds":   "transport/streamable.TestClientThatDoesNotReadIsCut",
	"keep_alive_seconds":      "transport/streamable.TestSilentCallBecomesAStream",
	"stream_age_seconds":      "transport/streamable.TestOldStreamIsEnded",
	"max_history_bytes":       "transport/streamable.TestHistoryOfASessionIsBounded",
	"max_total_history_bytes": "transport/streamable.TestHistoryOfAllIsBounded",
	"held_messages":           "supervisor/otp.TestHeldMessagesAreBounded",
	"records_aside":           "actors/storage.TestRecordsAsideAreBounded",
	"saved_history_bytes":     "transport/streamable.TestOldestOfAllIsNotSaved",
	"history_time_seconds":    "transport/streamable.TestHistoryIsDroppedAfterItsTime",
	"references":              "gateway/catalog.TestReferencesLeadBack",
	"references_bytes":        "gateway/catalog.TestReferencesLeadBack",
	"telling":                 "actors/server.TestNotificationsThatWaitAreBounded",
	"untold":                  "actors/client.TestNotificationsThatWaitAreBounded",
	"listen_uris": "actors/server.TestListenIsChecked " +
		"actors/server.TestSubscriptionsAreBounded",
	"subscribed_bytes": "actors/server.TestSubscribedBytesAreBounded",
	"uri_bytes":        "actors/server.TestURIsAreBounded",

	"upstream_message_bytes": "protocol.TestMessageLimits",
	"question_id_bytes":      "protocol.TestAnswersAreBoundedByTheirBytes",
	"answer_batch":           "protocol.TestAnswersAreBoundedByTheirBytes",
	"stream_resume_seconds":  "transport/streamable.TestClientGivesUpResuming",
	"bridge_wait_seconds":    "protocol/reconnect.TestScenarios",
	"bridge_held":            "protocol/reconnect.TestHeldRequestsAreBounded",
	"bridge_kept_bytes":      "protocol/reconnect.TestHeldRequestsAreBounded",
	"bridge_questions":       "protocol/reconnect.TestOpenQuestionsAreBounded",
	"line_bytes":             "transport/stdio.TestLineThatIsTooLongIsPassedOver",
	"request_id": "protocol/inflight.TestCounterThresholds " +
		"actors/client.TestShareOfUsedIDsIsShown",
	"call_timeout_seconds":     "actors/request.TestDeadlineEndsAnExchange",
	"call_timeout_max_seconds": "actors/request.TestProgressPostponesTheDeadline",
	"request_timeout_seconds":  "actors/client.TestServerWithoutItsListIsReady",
	"list_timeout_seconds": "actors/client.TestServerWithoutItsListIsReady " +
		"actors/client.TestLateListIsAnnounced",
	"list_grace_seconds":     "actors/client.TestLateListIsAnnounced",
	"question_hold_seconds":  "actors/client.TestQuestionThatNoSessionComesForIsRefused",
	"restore_wait_seconds":   "actors/client.TestCallWaitsForWhatItsClientWants",
	"first_answers_seconds":  "actors/client.TestCallWaitsNoLongerThanItsServerDoes",
	"first_rest_seconds":     "actors/client.TestCallWaitsForWhatItsServerAskedBefore",
	"refused_answer_seconds": "actors/client.TestCallWhoseAnswerIsRefusedEnds",
	"gone_after_seconds":     "actors/client.TestSessionWhoseClientIsGoneIsNotAsked",
	"early_questions":        "actors/client.TestQuestionsBeforeAnySessionAreBounded",
	"changes_quiet_seconds":  "gateway/catalog.TestBurstOfChangesIsAnnouncedOnce",
	"changes_most_seconds":   "gateway/catalog.TestBurstOfChangesIsAnnouncedOnce",
	"list_wait_seconds":      "actors/catalog.TestServerThatNeverAnswersIsMissing",
	"start_timeout_seconds":  "actors/client.TestStartThatFailsIsTriedAgain",
	"instance_rest_seconds":  "actors/client.TestIdleInstanceEndsUnlessAQuestionIsOpen",
	"idle_stop_seconds": "actors/client.TestServerThatNothingNeedsSleeps " +
		"actors/client.TestRemoteServerThatNothingNeedsSleeps",
	"idle_release_seconds":  "actors/server.TestSilentSessionLetsGoOfItsServers",
	"input_timeout_seconds": "actors/server.TestQuestionExpires",
	"question_wait_seconds": "actors/client.TestAbandonedQuestionsAreGivenUpForOthers",
	"tools": "gateway/catalog.TestListsAreBounded " +
		"actors/client.TestListIsNotReadToItsEnd",
	"item_depth":     "gateway/catalog.TestSound",
	"pem_bytes":      "transport/streamable.TestCertificateThatIsNoRegularFileIsRefused",
	"ca_bytes":       "supervisor.TestRouteReadsItsCertificatesAnew",
	"stale_sessions": "transport/streamable.TestClientGivesUpNewSessionIDs",
	"redirects":      "transport/streamable.TestClientFollowsRedirectsWithinItsOrigin",
	"tool_bytes":     "gateway/catalog.TestItemsAreBounded",
	"description_bytes": "gateway/catalog.TestItemsAreBounded " +
		"actors/client.TestToolsThatSayTooMuch",
	"instructions_bytes": "gateway/catalog.TestInstructionsStandUnderTheirServer",
	"bundled_bytes":      "gateway/catalog.TestEmbeddedSchemasAreBounded",
	"capabilities_bytes": "gateway/catalog.TestLargeCapabilitiesInThoseOfAll",
	"recorded_bytes":     "protocol.TestRecordedCapabilities",
	"stamp_bytes":        "actors/client.TestServerThatSaysTooMuchOfItself",
	"schema_bytes": "gateway/catalog.TestItemsAreBounded " +
		"actors/client.TestToolsThatSayTooMuch",
	"tasks_of_principal":    "actors/server.TestTasksAreBounded",
	"tasks_of_tenant":       "actors/task.TestFullTenant",
	"task_ttl_seconds":      "protocol/tasks.TestTasksAreKeptForABoundedTime",
	"stray_bytes":           "transport/stdio.TestEndingIsClassified",
	"log_lines_at_once":     "supervisor.TestLinesOfAServerAreSampled",
	"log_lines_per_second":  "supervisor.TestLinesOfAServerAreSampled",
	"starting":              "transport/stdio.TestStartsWaitForTheirTurn",
	"starts_at_once":        "transport/stdio.TestStartsHaveARate",
	"starts_per_second":     "transport/stdio.TestStartsHaveARate",
	"child_files":           "internal/interop.TestServersAreLimited",
	"child_file_size_bytes": "internal/interop.TestServersAreLimited",
	"child_memory_bytes":    "transport/stdio.TestMemoryIsLimited",
	"child_processes":       "transport/stdio.TestProcessesAreLimited",

	"news_at_once": "actors/client.TestFloodOfNewsIsReadAtItsPace " +
		"actors/client.TestFloodHasItsPace",
	"news_per_second": "actors/client.TestFloodOfNewsIsReadAtItsPace " +
		"actors/client.TestFloodHasItsPace",
	"deliveries_at_once":  "actors/notification.TestDeliveriesOfOneTurnAreBounded",
	"echoes":              "actors/notification.TestEchoesAreBounded",
	"progress_at_once":    "actors/client.TestProgressFloodIsPaced",
	"progress_per_second": "actors/client.TestProgressFloodIsPaced",

	"askers":     "actors/client.TestAskersAreBounded",
	"list_pages": "actors/client.TestListIsBounded",
	"list_bytes": "actors/client.TestListIsNotReadToItsEnd",
	"kept_bytes": "gateway/quota.TestAccountIsRefusedAtItsBound " +
		"actors/request.TestBytesInFlightAreBounded",
	"tenant_kept_bytes": "gateway/quota.TestAccountIsRefusedAtItsBound " +
		"gateway/quota.TestTenantsAboveTheirShareAreRefusedFirst",
	"tenant_answers_bytes": "transport/streamable.TestLargeAnswersWaitForRoom " +
		"transport/stdio.TestLargeLineWaitsForRoom internal/resilience.TestAnswersThatNobodyReads",
	"tenant_bodies_bytes": "transport/streamable.TestLargeBodiesWaitForRoom " +
		"internal/resilience.TestBodiesOfManyThatFillTheMemory",
	"tenant_waiting_bodies": "transport.TestRoomWithAQueue " +
		"transport/streamable.TestLargeBodiesWaitForRoom",
	"spare_bytes":          "transport.TestFewBuffersAreKept transport.TestKeptBuffersCount",
	"memory_bytes":         "internal/resilience.TestMemoryIsFull",
	"drain_seconds":        "supervisor.TestDrain chaos.TestHostThatStopsAnswersWhatIsInFlight",
	"drain_settle_seconds": "supervisor.TestDrain",
}

// docs/limits.gen.md has every bound, the reaction at it, and the test that shows the reaction.
// Every key below `limits` is a bound.
func TestLimitsAreDocumented(t *testing.T) {
	const file = "../docs/limits.gen.md"
	got := limitsPage(t)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || got != string(want) {
		t.Errorf("%s is not current (%v): run go generate ./supervisor", file, err)
	}
}

// gauges returns the rows of the table by the names of their gauges. It fails the test for keys
// that have no row.
func gauges(t *testing.T) map[string]limit {
	t.Helper()
	c, err := config.Load([]byte("tenants: {t: {servers: {s: {builtin: demo}}}}"), config.Options{
		Builtins: Builtins,
	})
	if err != nil {
		t.Fatal(err)
	}
	rows, names := map[string]limit{}, map[string]string{}
	for b := range c.Bounds() {
		if byKey[b.Key] == nil {
			t.Errorf("limits.%s is no row of the table", b.Key)
			continue
		}
		names[b.Key], _ = measure(b.Key, b.Value)
	}
	for _, l := range limits {
		name := names[l.key]
		if l.key == "" {
			name, _ = measure(l.name, l.value)
		}
		if _, twice := rows[name]; twice || name == "" {
			t.Errorf("%q is there twice, or is no key: %+v", name, l)
		}
		rows[name] = l
	}
	return rows
}

func limitsPage(t *testing.T) string {
	rows := gauges(t)
	var b strings.Builder
	b.WriteString(`<!-- Written by go generate ./supervisor. Do not edit. -->

# Limits

Every limit of the host, what happens when it is reached, and the test that shows it. A key belongs below ` + "`limits`" + `, at the top and, where
[config.gen.md](config.gen.md) says so, in a tenant. Each limit is a gauge, ` + "`mcpd_limit_*`" +
		`. Refusals at the limit are counted in
` + "`mcpd_rejections_total`" + ` with the reason given here, or by the metric named instead.

| group | limit | key | default | at most | at the limit | counted as | gauge | shown by |
|---|---|---|---|---|---|---|---|---|
`)
	for _, group := range bounded {
		for _, name := range strings.Fields(group.gauges) {
			l, ok := rows[name]
			if !ok || enforced[name] == "" {
				t.Errorf("%s: there is no such bound, or no test of it", name)
				continue
			}
			delete(rows, name)
			key, value, ceiling := "", fmt.Sprint(l.value), "as it is"
			if l.key != "" {
				i := slices.IndexFunc(config.Keys(), func(k config.Key) bool {
					return k.Path == "limits."+l.key
				})
				k := config.Keys()[i]
				_, ceiling, _ = strings.Cut(k.Type.Name, " to ")
				key, value = "`"+l.key+"`", k.Default
			} else if slices.Contains([]string{"connections", "starting", "kept_bytes", "tenant_kept_bytes",
				"unknown_bytes", "address_unknown_bytes", "tenant_answers_bytes", "tenant_bodies_bytes",
				"spare_bytes", "http2_answer_bytes"}, name) {
				value = "of the machine"
			}
			counted := l.counted
			if counted != "" {
				counted = "`" + counted + "`"
			}
			var tests []string
			for _, test := range strings.Fields(enforced[name]) {
				tests = append(tests, "`"+test+"`")
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | `%s` | %s |\n",
				group.label, l.subject, key, value, ceiling, l.reaction, counted, name,
				strings.Join(tests, ", "))
		}
	}
	b.WriteString("\n## Queues\n\n`mcpd_queue_high_water` is the high-water mark of the queues of a " +
		"kind, and `mcpd_queue_limit` the limit of each. Messages that answer a\n" +
		"request are never refused and may exceed the limit. In addition, `mailbox_<label>` are the " +
		"mailboxes of the actors with a label, in messages.\n\n")
	for _, q := range queueTable {
		fmt.Fprintf(&b, "- `%s`: %s\n", q.name, q.label)
	}
	for name := range rows {
		t.Errorf("%s bounds nothing that has to be bounded", name)
	}
	return b.String()
}

// Every bound is a gauge, and the values of single tenants are listed too.
func TestLimitsAreGauges(t *testing.T) {
	h := literal(t)
	c := *h.now().config
	c.Tenants = append([]config.Tenant{}, c.Tenants...)
	c.Tenants[0].Limits.MaxPending, c.MaxBody = 7, 1<<20
	h.apply(&c, h.now().applied)
	families, err := h.metrics.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		name, is := strings.CutPrefix(f.GetName(), "mcpd_limit_")
		for _, m := range f.GetMetric() {
			if is {
				got[name+" "+m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
			}
		}
	}
	for name := range gauges(t) {
		if _, ok := got[name+" "]; !ok {
			t.Errorf("%s is no gauge", name)
		}
	}
	for series, want := range map[string]float64{
		"max_body_bytes ": 1 << 20, "drain_seconds ": 25, "max_pending ": 1000,
		"max_pending " + c.Tenants[0].Name: 7, "meta_depth ": 8,
	} {
		if got[series] != want {
			t.Errorf("%s is %v, want %v", series, got[series], want)
		}
	}
}
