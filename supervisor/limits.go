package supervisor

import (
	"iter"
	"runtime"
	"time"

	upstreams "mcpd/actors/catalog"
	"mcpd/actors/client"
	"mcpd/actors/notification"
	"mcpd/actors/server"
	"mcpd/actors/session"
	"mcpd/actors/storage"
	"mcpd/actors/task"
	"mcpd/gateway/catalog"
	"mcpd/gateway/quota"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/protocol/elicitation"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/reconnect"
	"mcpd/protocol/tasks"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/transport/stdio"
	"mcpd/transport/streamable"
)

// limit is one bound of the host: a row of docs/limits.gen.md, and a gauge in the metrics.
type limit struct {
	// key is the setting below `limits` that configures the bound; its default and range apply. It
	// also names the gauge.
	key string
	// name names the gauge of a bound that is not configured. value is that bound: an int, an int64 of
	// bytes, a duration, or a function of the host that returns bytes.
	name  string
	value any

	subject  string // what is bounded
	reaction string // what happens at the bound
	counted  string // reason in mcpd_rejections_total, or another metric
}

const (
	closes    = "the connection is closed"
	refuses   = "-32600, 400"
	saysRetry = "429 and Retry-After, -32010"
	saysLater = "503 and Retry-After, -32010"
	waits     = "the next one waits for its turn"
	inTurn    = "the next one waits for its turn, for at most 10 s: " + saysLater
	ends      = "it ends: 404"
	ended     = "mcpd_sessions_closed_total"
	idleEnds  = "the longest idle session of the tenant or principal furthest above its share is " +
		"evicted: 404, and its client opens a new one. A session with a call in flight or an open " +
		"stream is never evicted: 503 and Retry-After"
	queues = "equal hints are merged, then progress is dropped, then the oldest notification; " +
		"outcomes are never dropped"
	paced      = "the latest report waits and replaces earlier ones; an answer does not wait for it"
	readsLater = "the host reads its server no faster, so the server waits"
	listsCut   = "mcpd_upstream_lists_cut_total"
	unretried  = "the caller is told that the request may have been executed"
	keeps      = "new work of the tenant is refused, unless the tenant keeps less than its share: " +
		saysLater
	forgets = "the oldest event is dropped; a client that comes back for it gets 400"
)

// limits is the table of all bounds, from the edge inwards.
var limits = []limit{
	// Connections.
	{"", "connections", int(maxConnections()),
		"connections to the MCP listener: the files that the process may have open, minus 128; an " +
			"eighth is for connections without an authenticated request",
		"the oldest connection without an authenticated request is closed, or the new one",
		"too_many_connections"},
	{"", "tenant_connections", int(tenantPart(maxConnections(), 1)),
		"connections that are guaranteed to the tenant of a host with one tenant; with more tenants, " +
			"each has an equal part. Beyond that, tenants take what is free",
		"the longest idle connection of the tenant that is furthest above its share is closed, its " +
			"streams with an event that says when to come back; if none is idle: 503 and Retry-After, " +
			"-32010",
		"too_many_connections"},
	{"", "unknown", (*host).unknownBytes,
		"bytes of connections without an authenticated request: an eighth of the memory, at least 8 MiB",
		"the oldest of these connections is closed", "unauthenticated_connections"},
	{"", "address_unknown", (*host).addressBytes,
		"bytes of connections without an authenticated request from one address, or from one /64 of " +
			"IPv6, except trusted proxies: half of the limit for all",
		"the oldest of these connections is closed", "unauthenticated_connections"},
	{"max_address_connections", "", nil, "connections from one address", closes,
		"too_many_connections"},
	{"max_connections", "", nil, "connections of a tenant, by their first use",
		"503 and Retry-After, -32010; the connection is closed", "overloaded"},
	{"", "socket_buffer", int64(socketBuffer),
		"bytes that the kernel buffers for a connection, in each direction", "the sender waits", ""},
	{"header_timeout", "", nil,
		"time of the TLS handshake with the header fields of the first request or the preface of " +
			"HTTP/2, and time of the header fields of each further request", closes, ""},
	{"idle_timeout", "", nil, "time that a connection is unused", closes, ""},
	{"max_http2_streams", "", nil, "concurrent requests of one HTTP/2 connection",
		"REFUSED_STREAM", ""},
	{"", "http2_request", int64(streamable.RequestWindow),
		"bytes of the body of an HTTP/2 request that arrive before they are read", "its client waits",
		""},
	{"", "http2_connection", int64(streamable.ConnectionWindow),
		"bytes of the bodies of all requests of one HTTP/2 connection that arrive before they are read",
		"its client waits", ""},
	{"", "http2_resets", streamable.MaxResets,
		"requests that one HTTP/2 connection has reset within 10 s",
		"GOAWAY; requests in flight continue", ""},

	// Requests.
	{"max_header", "", nil, "bytes of the header fields of a request", "431", ""},
	{"max_headers", "", nil, "header fields of a request", "431, -32600", "too_many_headers"},
	{"max_url", "", nil, "bytes of the request target", "414, -32600", "url_too_long"},
	{"max_body", "", nil, "bytes of a request", "413, -32012; the connection is closed", "too_large"},
	{"body_timeout", "", nil,
		"time of the body of a request; a body that arrives faster than 10 KiB/s may take 120 s",
		"408, -32600; the connection is closed", "body_too_slow"},
	{"max_depth", "", nil, "nesting of objects and arrays in a request", refuses, "limits"},
	{"max_tokens", "", nil, "JSON tokens of a request: names, values, and beginnings and ends of " +
		"objects and arrays", refuses, "limits"},
	{"max_members", "", nil, "members of one object in a request", refuses, "limits"},
	{"max_answer_depth", "", nil, "nesting of objects and arrays in a message of a server",
		"its request fails; the connection continues", ""},
	{"max_answer_members", "", nil, "members of one object in a message of a server",
		"its request fails; the connection continues", ""},
	{"", "json_digits", jsonrpc.DefaultDigits, "bytes of one number in a request", refuses, "limits"},
	{"max_batch", "", nil, "messages of one batch of 2025-03-26", refuses, "limits"},
	{"max_id", "", nil, "bytes of a request's id", refuses, "limits"},
	{"", "meta", int64(protocol.MaxMetaBytes), "bytes of `_meta`", "-32602", "invalid_params"},
	{"", "meta_depth", protocol.MaxMetaDepth, "depth of `_meta`", "-32602", "invalid_params"},
	{"", "meta_keys", protocol.MaxMetaKeys, "members of `_meta`", "-32602", "invalid_params"},

	// Work.
	{"max_session_pending", "", nil, "requests of one session in flight", saysLater, "overloaded"},
	{"max_principal_pending", "", nil, "requests of one principal in flight", saysRetry,
		"rate_limited"},
	{"max_pending", "", nil, "requests of a tenant in flight, and of all its callers at one " +
		"connection to a server", saysLater, "overloaded"},
	{"max_principal_rate", "", nil,
		"HTTP requests per second of one principal, with bursts of twice as many",
		saysRetry, "rate_limited"},
	{"max_rate", "", nil, "HTTP requests per second of a tenant, with bursts of twice as many",
		saysRetry, "rate_limited"},
	{"", "retry_percent", quota.RetryPercent,
		"retry budget: requests that may be sent once more after their server died on them, as a " +
			"percentage of the requests sent to it. Each is sent again at most once, and none that may " +
			"change something, unless `replay` allows it", unretried,
		"mcpd_requests_total"},
	{"", "retries_at_once", quota.MaxRetries,
		"retries after the death of a server that are sent one right after the other", unretried,
		"mcpd_requests_total"},
	{"", "least_retries", quota.MinRetries,
		"retries after the death of a server that are always allowed in a minute", unretried,
		"mcpd_requests_total"},
	{"max_auth_failures", "", nil, "failed authentications of one address within a minute",
		"429 and Retry-After; clients with a key are not held up", "rate_limited"},

	// Sessions.
	{"max_principal_sessions", "", nil,
		"sessions of one principal; with 0 its share of `max_sessions`, half of which is reserved for " +
			"the keys of a tenant in equal parts", saysRetry, "rate_limited"},
	{"max_sessions", "", nil, "sessions of a tenant", idleEnds, ended},
	{"max_total_sessions", "", nil,
		"sessions of all tenants. Half of the limit is reserved for them in equal parts; a tenant " +
			"below its part is always served", idleEnds, ended},
	{"", "peers", session.MaxPeers,
		"kinds of clients without a session (2026-07-28) of one principal; clients of one kind declare " +
			"the same, as far as it matters",
		"the kind that is idle longest is forgotten; if all have requests in flight: 429 and " +
			"Retry-After, -32010",
		"rate_limited"},
	{"", "capability_sets", session.MaxCapabilitySets,
		"sets of capabilities that are declared to servers for one principal of a tenant, in both eras " +
			"together; this bounds the connections to a server that the principal causes by varying them",
		"a client is served by the largest set without a capability that it lacks", ""},
	{"max_principal_initialize_rate", "", nil,
		"new sessions per second of one principal, with bursts of twice as many", saysRetry,
		"rate_limited"},
	{"max_initialize_rate", "", nil,
		"new sessions per second of a tenant, with bursts of twice as many", saysRetry, "rate_limited"},
	{"session_init", "", nil, "time of a session from its opening to its last handshake message",
		ends, ended},
	{"session_idle", "", nil, "time of a session without a request or a stream", ends, ended},
	{"session_age", "", nil, "total time of a session", ends, ended},

	// Streams.
	{"max_streams", "", nil, "GET streams of one session", saysRetry, "too_many_streams"},
	{"", "browser_streams", streamable.BrowserStreams,
		"streams without a call in flight of one web origin, principal and browser over plain " +
			"HTTP/1.1, where a browser has six connections for all its tabs",
		"the stream that has waited longest ends with an event that says when to come back", ""},
	{"", "listens", server.MaxListens,
		"subscriptions/listen requests of all clients of one kind without a session, each of which is " +
			"a response that stays open", "-32603, overloaded", "overloaded"},
	{"", "listen_uris", protocol.MaxSubscribedURIs,
		"resources of one subscriptions/listen, and resources that a session is subscribed to", "-32602",
		"invalid_params"},
	{"", "subscribed", int64(protocol.MaxSubscribedBytes),
		"bytes of the URIs that a session is subscribed to", "-32602",
		"invalid_params"},
	{"", "references", catalog.MaxReferences,
		"URIs of one principal that servers have returned outside of their lists, and that lead back " +
			"to the server that returned them", "the oldest is forgotten, and no longer leads to its server",
		""},
	{"", "references", int64(catalog.MaxReferenceBytes),
		"bytes of the URIs of one principal that servers have returned outside of their lists",
		"the oldest is forgotten, and no longer leads to its server", ""},
	{"", "uri", int64(catalog.MaxURI),
		"bytes of the URI of a resource that a server lists or a client subscribes to",
		"-32602; a resource that a server lists is left out", "invalid_params"},
	{"max_stream_events", "", nil,
		"events that wait for a client, and events that are kept for its return",
		queues, "mcpd_notifications_dropped_total"},
	{"max_stream_size", "", nil,
		"bytes of the events that wait for a client, and of those that are kept for its return", queues,
		"mcpd_notifications_dropped_total"},
	{"stall_timeout", "", nil, "time of a write of which the client reads nothing",
		"the stream is cut; its client may resume it", "slow_consumer"},
	{"keep_alive", "", nil, "time that a stream is silent", "a comment is sent", ""},
	{"stream_age", "", nil, "time of a GET stream",
		"it ends with an event that says when to come back", ""},
	{
		"max_history", "", nil,
		"bytes of the events that are kept for the return of one session's client", forgets, "",
	},
	{"max_total_history", "", nil, "bytes of the events that are kept for all sessions", forgets, ""},
	{"history_time", "", nil, "time that an event is kept", forgets, ""},
	{"", "held_messages", otp.MaxHeldMessages,
		"messages of tenants that wait at a shared component because the tenant has crashed it a " +
			"hundred times in a row, or made it hang", "further messages are dropped", ""},
	{"", "records_aside", storage.MaxAside,
		"stored records that crashed their readers, kept in the state", "further records are deleted",
		""},
	{"", "saved_history", int64(streamable.MaxSavedBytes),
		"bytes of events that are kept on disk, of streams that their clients have left",
		"the oldest event is not available to the next host", ""},

	// Servers.
	{"", "upstream_message", int64(protocol.MaxUpstreamMessage), "bytes of a message of a server",
		"its request fails; the connection continues", ""},
	{"", "question_id", int64(protocol.MaxQuestionID),
		"bytes of the id of a question that a server asks",
		"the question is skipped; the connection continues", ""},
	{"", "answer_batch", protocol.MaxUpstreamBatch, "messages of one batch of a server",
		"its request fails; the connection continues", ""},
	{"", "http2_answer", (*host).window,
		"bytes of a server's answer over HTTP/2 that arrive before they are read, and are charged to " +
			"nobody: 1/4096 of the memory, at least 64 KiB and at most 4 MiB", "its server waits", ""},
	{"", "request_id", protocol.ReservedRequestID,
		"ids of requests used on one connection to a server, of the 2^53-1 that peers can hold",
		"from 90 % the connection is replaced as soon as it has no call in flight; at the limit it " +
			"sends no more requests", "mcpd_upstream_request_id_usage_ratio"},
	{"call_timeout", "", nil, "time of a call since its last progress",
		"-32009, and the server is told",
		"mcpd_requests_total"},
	{"call_timeout_max", "", nil, "total time of a call", "-32009, and the server is told",
		"mcpd_requests_total"},
	{"", "news_at_once", client.UnsolicitedBurst,
		"notifications, questions and unexpected answers of one connection that are read one right " +
			"after the other; for progress four times as many", readsLater,
		"mcpd_upstream_paced_seconds_total"},
	{"", "news_per_second", client.UnsolicitedRate,
		"notifications, questions and unexpected answers of one connection that are read in a second, " +
			"after such a burst; for progress four times as many", readsLater,
		"mcpd_upstream_paced_seconds_total"},
	{"", "deliveries_at_once", notification.MaxDeliveries,
		"listeners to which a notification is delivered before other work of the tenant's dispatcher",
		"the rest is delivered after that work", ""},
	{"", "echoes", notification.MaxRememberedChanges,
		"resources of a tenant for which it is remembered, for 200 ms, which instances of a server " +
			"have announced a change", "a change may be announced once for each instance", ""},
	{"", "progress_at_once", client.ProgressBurst,
		"progress reports of one call that its client is sent one right after the other", paced,
		"mcpd_notifications_dropped_total"},
	{"", "progress_per_second", client.ProgressRate,
		"progress reports of one call that its client is sent in a second, after such a burst", paced,
		"mcpd_notifications_dropped_total"},
	{"request_timeout", "", nil, "time of a request that the host sends to a server",
		"the server counts as one that did not answer", ""},
	{"list_timeout", "", nil, "time of a page of a list that the host requests from a server",
		"the server counts as one that did not answer; the page is requested again later", ""},
	{"", "list_grace", client.ListGrace,
		"time that the host waits after the handshake for lists that a server has not delivered",
		"calls are sent to it; lists that arrive later are announced", ""},
	{"", "decline_wait", client.DeclineWait,
		"time that a question of a server with several connections waits, if this connection has " +
			"nobody to ask",
		"it is refused, as soon as it is open at no other connection", ""},
	{"", "asked_questions", client.MaxAsked,
		"open questions of one server that are remembered, so that one connection does not refuse what " +
			"a user is asked over another", "the oldest is forgotten", ""},
	{"", "away_grace", client.AwayGrace,
		"time that calls wait for a server at whose URL nothing answers",
		"they are refused with -32008 and `retryAfterMs`; later ones are refused at once", ""},
	{
		"", "log_samples", telemetry.MaxSamples,
		"causes that have one log line a minute for all their events: incidents of servers, ended " +
			"sessions, servers that print",
		"for further causes each line is written as it comes, up to 20 a second", "",
	},
	{
		"", "trouble_statuses", client.MaxIncidentStatuses,
		"HTTP statuses with which a server behind a URL answers while it cannot be used, each with a " +
			"warning",
		"there is no further warning until the server was ready", "",
	},
	{
		"", "removed_servers", tenant.MaxRemoved,
		"servers of a tenant that reloads have removed, whose callers are told of the removal",
		"the oldest is forgotten: its callers are told that there is no such server", "",
	},
	{"", "away_dial", upstreams.LastDial,
		"pause between two dials of a server at whose URL nothing answers",
		"the pause grows no longer", ""},
	{"", "question_hold", client.QuestionHold,
		"time that a question of a server waits until a session uses its connection", "it is refused",
		""},
	{"", "restore_wait", client.RestoreWait,
		"time that calls wait for a server that has just started, until it has answered for the log " +
			"level and the subscriptions that clients want", "they are sent to it", ""},
	{
		"", "first_answers", client.FirstAnswersWait,
		"time that calls wait for a server that asks something before its first call, for example for " +
			"roots, until it has the answer",
		"they are sent to it", "",
	},
	{
		"", "first_rest", client.FirstAnswersRest,
		"time that a server has to act on the last of these answers before its first call, as part of " +
			"that wait",
		"they are sent to it", "",
	},
	{"", "refused_answer", client.RefusedAnswerWait,
		"time of a call whose server has refused the answer to its question, since the last message of " +
			"the server for the call", "upstream_invalid, and the server is told", "mcpd_requests_total"},
	{"", "gone_after", client.GoneAfter,
		"time of a client without a request and a stream, while another client uses the same connection",
		"it is not asked questions that a server asks outside of calls", ""},
	{"", "early_questions", client.MaxEarly,
		"questions of one connection before any session uses it, and log lines of at most 4 KiB before " +
			"its handshake is over",
		"later questions are refused at once, and later lines are dropped", ""},
	{"list_wait", "", nil, "time that a list waits for servers that were never listed",
		"it is answered without them", ""},
	{"start_timeout", "", nil, "time of a server from its start to the end of its handshake",
		"the start has failed", "mcpd_upstream_starts_total"},
	{"", "changes_quiet", catalog.ChangesQuiet,
		"time without further changes before clients of all servers as one are told of a burst of " +
			"changed lists",
		"they are told once", ""},
	{"", "changes_most", catalog.ChangesMost, "time of a burst of changed lists that continues",
		"clients are told, and told once more of the rest", ""},
	{"idle_stop", "", nil, "time that nothing needs a server that sessions use",
		"it is stopped, and started again by the next call", "mcpd_upstream_closed_total"},
	{"idle_release", "", nil, "time of a session without a request and an open stream",
		"it releases its servers, and gets them again when its client is back",
		"mcpd_upstream_closed_total"},
	{"question_wait", "", nil,
		"time that calls of a server with its maximum number of instances wait behind questions to " +
			"other users",
		"-32009; a question whose client is gone or silent is dropped before", "mcpd_requests_total"},
	{"input_timeout", "", nil, "time that a call waits for its user", "-32009", "mcpd_requests_total"},
	{"", "telling", server.MaxPendingNotifications,
		"notifications of an extension from one client that wait for the connection to their server",
		"further notifications are dropped", "mcpd_notifications_dropped_total"},
	{"", "untold", client.MaxClientNotifications,
		"notifications of an extension that wait at a connection whose server is not ready",
		"further notifications are dropped", "mcpd_notifications_dropped_total"},
	{"", "elicitations", elicitation.MaxAll,
		"pages that the sessions of one connection were asked to visit, and whose end they have not " +
			"been told",
		"the oldest page of the session with the most is forgotten: nobody is told of its end",
		"mcpd_notifications_dropped_total"},
	{"", "elicitations_of_session", elicitation.MaxOwned,
		"pages that one session was asked to visit, and whose end it has not been told",
		"its oldest is forgotten", "mcpd_notifications_dropped_total"},
	{"", "tools", catalog.MaxItems, "tools, prompts or resources of one server",
		"further ones are left out", listsCut},
	{"", "stale_sessions", streamable.MaxStale,
		"times that a request is sent again because its server has replaced the session id in the " +
			"meantime",
		"the session is lost, and a new one is opened", "mcpd_requests_total"},
	{"", "redirects", streamable.MaxRedirects,
		"redirects of one request to a server, all within its origin",
		"the last redirect counts as the answer, which is not a message", "mcpd_requests_total"},
	{"", "ca", int64(maxCA), "bytes of the file `ca` of a server",
		"no connection to the server is made, and the server's cause says why", ""},
	{"", "pem", int64(streamable.MaxPEM), "bytes of each of the files `tls.cert` and `tls.key`",
		"the host does not start, or continues with the files that it has, and says why", ""},
	{"", "askers", client.MaxAskers,
		"tools and prompts of one connection that are known to ask their user",
		"a further one is called, and its question refused, while all instances are in use and users " +
			"are asked", ""},
	{"", "instance_rest", client.InstanceRest,
		"time that an instance beyond the first is kept without a call, while no user is asked on the " +
			"first", "it ends; another is started when a call has to wait", ""},
	{"", "list_pages", client.MaxPages, "pages of one list", "no further page is requested", listsCut},
	{"", "list", int64(client.MaxList), "bytes of one list", "no further page is requested", listsCut},
	{"", "tool", int64(catalog.MaxItem), "bytes of the definition of a tool, prompt or resource",
		"it is left out", listsCut},
	{"", "item_depth", catalog.MaxItemDepth,
		"nesting of the definition of a tool, prompt or resource in the list of all servers; clients " +
			"of the Python SDK read no deeper",
		"it is left out there, and reported as an odd item", "mcpd_upstream_odd_items_total"},
	{"", "description", int64(catalog.MaxDescription),
		"bytes of the description of a tool, prompt or resource",
		"the rest is cut off", listsCut},
	{"", "instructions", int64(catalog.MaxInstructions),
		"bytes of the instructions of a server within those of all servers", "the rest is cut off",
		listsCut},
	{"", "capabilities", int64(catalog.MaxCapabilities),
		"bytes of the capabilities of a server within those of all servers",
		"the standard capabilities are declared, without their settings", listsCut},
	{"", "recorded", int64(protocol.MaxStoredCapabilities),
		"bytes of the capabilities in the stored record of a session",
		"the record has the standard capabilities and the extensions that the client declares, without " +
			"their settings; the client is shown all", ""},
	{"", "stamp", int64(client.MaxStamp), "bytes of serverInfo where the host adds it to each result",
		"everything but name and version is left out there", ""},
	{"", "bundled", int64(catalog.MaxBundled),
		"bytes of the schemas of one server's tools that are embedded in the schemas of its other " +
			"tools that refer to them, in the list of all servers",
		"the outputSchema that refers to another is left out", ""},
	{"", "schema", int64(catalog.MaxSchema),
		"bytes of a schema of a tool, which the host passes on: it checks nothing against the schema " +
			"and fetches nothing for it", "the tool is left out", listsCut},
	{"", "tasks_of_principal", task.MaxPrincipal, "tasks of one principal that the host keeps",
		saysLater, "overloaded"},
	{"", "tasks_of_tenant", task.MaxTenant, "tasks of a tenant that the host keeps", saysLater,
		"overloaded"},
	{"", "task_ttl", tasks.MaxTTL, "time that a task is kept",
		"a longer time is shortened to this", ""},
	{"", "bridge_wait", reconnect.Wait,
		"time that a request to `mcpd stdio` waits while its host is away, since it arrived",
		"-32008, with `retryable` and `maybeExecuted`; a confirmed subscription waits as long as it takes", ""},
	{"", "stream_resume", streamable.ResumeTime,
		"time of a call of `mcpd stdio`, or to a server behind a URL, whose stream has begun and broke " +
			"off, while nobody listens there",
		"-32008, with `maybeExecuted`: five attempts to resume the stream have failed, each after a " +
			"pause that is up to a quarter longer", "mcpd_requests_total"},
	{"", "bridge_held", reconnect.MaxHeld, "requests that wait at `mcpd stdio` while its host is away",
		"overloaded, -32010", ""},
	{"", "bridge_kept", int64(reconnect.MaxStoredBytes),
		"bytes of unanswered requests that `mcpd stdio` keeps for the next host",
		"a further request is sent without being kept, or refused while the host is away: overloaded, " +
			"-32010", ""},
	{"", "bridge_questions", reconnect.MaxQuestions,
		"questions of the host that are open at the client of `mcpd stdio`",
		"the host is told that the client is overloaded", ""},
	{"", "line", int64(stdio.MaxMessage), "bytes of a line of a child process", "it is skipped", ""},
	{"", "starting", runtime.GOMAXPROCS(0),
		"programs that are starting at the same time: one for each core", waits,
		"mcpd_spawns_delayed_total"},
	{"", "starts_at_once", stdio.StartBurst,
		"programs started one right after the other; tenants take turns", waits,
		"mcpd_spawns_delayed_total"},
	{"", "starts_per_second", stdio.StartRate,
		"programs started in a second, after such a burst", waits,
		"mcpd_spawns_delayed_total"},
	{"", "child_files", stdio.DefaultFiles,
		"open files of a child process, unless `max_files` of its server says otherwise",
		"it gets EMFILE",
		""},
	{"", "child_file_size", int64(stdio.DefaultFileSize),
		"bytes of a file that a child process writes, unless `max_file_size` of its server says " +
			"otherwise",
		"SIGXFSZ", ""},
	{"", "child_memory", int64(0),
		"memory of a child process and of everything that it starts; no limit unless its server has " +
			"`max_memory` and there is a control group", "SIGKILL: `out of memory`",
		"mcpd_upstream_exits_total"},
	{"", "child_processes", 0,
		"processes and threads of a child process; no limit unless its server has `max_processes` and " +
			"there is a control group",
		"it gets EAGAIN", ""},
	{"", "stray", int64(stdio.MaxStray),
		"bytes of consecutive lines of a program that are not messages, plus 64 for each line",
		"the program is ended: `not a message stream`", "mcpd_upstream_exits_total"},
	{"", "log_lines_at_once", lineRate.Burst,
		"lines of a server beside its messages that are logged one right after the other",
		"further lines are counted with the next logged line", "mcpd_upstream_stderr_lines_total"},
	{"", "log_lines_per_second", int(time.Second / lineRate.Every),
		"lines of a server beside its messages that are logged in a second, after such a burst",
		"further lines are counted with the next logged line", "mcpd_upstream_noise_lines_total"},

	// The host.
	{"", "kept", (*host).keepLimit,
		"bytes that all tenants keep: requests in flight or being read, held calls, tasks, histories, " +
			"unread answers, lists, what clients are shown of them, references outside of them, " +
			"notifications, messages for servers, sessions, and changes of the state that are not written " +
			"yet. The limit is half of the memory, and one message of any size while nobody uses more " +
			"than a share", keeps,
		"overloaded"},
	{"", "tenant_kept", (*host).guaranteed,
		"kept bytes that are guaranteed to each tenant: half of the limit of all in equal parts; the " +
			"other half is for any tenant that needs it", keeps, "overloaded"},
	{"", "tenant_answers", (*host).answerShare,
		"bytes that servers have sent to a tenant and its clients have not read; a message of more " +
			"than 64 KiB counts as far as it has arrived, rounded up to at most twice that. The limit is " +
			"an eighth of the memory, at least 16 MiB, and one message of any size beyond it; the tenants " +
			"above their share send one at a time",
		"the server is not read until clients have read, or are cut off", "slow_consumer"},
	{"", "tenant_bodies", (*host).bodyShare,
		"bytes of a tenant's requests of more than 64 KiB that are being read; each counts as far as " +
			"it has arrived, rounded up to at most twice that. The limit is 1/32 of the memory, at least " +
			"4 MiB; one request of any size passes", inTurn, "overloaded"},
	{"", "tenant_waiting_bodies", waitingBodies,
		"requests of more than 64 KiB of a tenant that wait to be read", saysLater, "overloaded"},
	{"", "spare", (*host).spareBuffers,
		"bytes of buffers for large messages that are kept for the next messages of any tenant until " +
			"the garbage is collected twice: 1/32 of the memory, at most 32 MiB",
		"a buffer is not kept", ""},
	{"memory", "", nil, "memory of mcpd itself that may be used before the garbage is collected all " +
		"the time",
		"from 85 %: no new session, task or held call of a tenant that keeps more than its share; from " +
			"95 %: no new call of such a tenant; from 100 %: nothing new of any tenant: 503 and " +
			"Retry-After, -32010",
		"overloaded"},
	{"drain", "", nil, "time that clients have to finish after the host was told to stop; calls are " +
		"served for two thirds of it",
		"503 and Retry-After, -32008; near the end, requests still in flight are answered with an error",
		"stopping"},
	{"", "drain_settle", quietBeforeEnd,
		"time without a request in flight after which the host stops earlier", "the host stops",
		""},
}

// byKey maps each key to its row.
var byKey = func() map[string]*limit {
	m := map[string]*limit{}
	for i := range limits {
		if l := &limits[i]; l.key != "" {
			m[l.key] = l
		}
	}
	return m
}()

// limitGauges yields the bounds for the metrics.
func (h *host) limitGauges() iter.Seq[telemetry.Limit] {
	return func(yield func(telemetry.Limit) bool) {
		for b := range h.now().config.Bounds() {
			if b.Key == "memory" { // it may have been detected
				b.Value = int64(h.options.Memory)
			}
			name, value := measure(b.Key, b.Value)
			if !yield(telemetry.Limit{Name: name, Tenant: b.Tenant, Help: byKey[b.Key].subject,
				Value: value}) {
				return
			}
		}
		for _, l := range limits {
			if l.key != "" {
				continue
			}
			if share, ok := l.value.(func(*host) int); ok {
				l.value = int64(share(h))
			}
			if name, value := measure(l.name,
				l.value); !yield(telemetry.Limit{Name: name, Help: l.subject, Value: value}) {
				return
			}
		}
	}
}

// measure returns a bound as its gauge shows it, in bytes or seconds if it has such a unit.
func measure(name string, value any) (gauge string, of float64) {
	switch v := value.(type) {
	case int64:
		return name + "_bytes", float64(v)
	case func(*host) int:
		return name + "_bytes", 0
	case time.Duration:
		return name + "_seconds", v.Seconds()
	default:
		return name, float64(v.(int))
	}
}
