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

	what     string // what is bounded
	reaction string // what happens at the bound
	counted  string // reason in mcpd_rejections_total, or another metric
}

const (
	closes    = "the connection is closed"
	refuses   = "-32600, 400"
	saysRetry = "429 and Retry-After, -32010"
	saysLater = "503 and Retry-After, -32010"
	waits     = "the next one waits for its turn"
	inTurn    = "the next one waits for its turn, 10 s at most: " + saysLater
	ends      = "it ends: 404"
	ended     = "mcpd_sessions_closed_total"
	idleEnds  = "the longest idle session of whoever is furthest above its share ends: 404, its " +
		"client begins anew; one with a call in flight or an open stream never does: 503 and Retry-After"
	queues = "equal hints are one, then progress goes, then the oldest notification; outcomes stay"
	paced  = "the latest waits and takes the place of those before it; an answer does not wait " +
		"for it"
	readsLater = "its server is read no faster, and waits itself"
	listsCut   = "mcpd_upstream_lists_cut_total"
	unretried  = "its caller is told that it may have been executed"
	keeps      = "what the tenant begins is refused, unless it keeps less than its share: " + saysLater
	forgets    = "the oldest is forgotten; a client that comes back for it gets 400"
)

// limits is the table of all bounds, from the edge inwards.
var limits = []limit{
	// Connections.
	{"", "connections", int(maxConnections()),
		"connections to the MCP listener: the files that the process may have open, less 128; an " +
			"eighth is for those without an authenticated request",
		"the oldest without an authenticated request is closed, or this one", "too_many_connections"},
	{"", "tenant_connections", int(tenantPart(maxConnections(), 1)),
		"connections that a host with one tenant has for it in any case; with more tenants, an equal " +
			"part of this. Beyond, all take what is free",
		"the longest idle of the tenant that is furthest above its share ends, its streams with an " +
			"event that says when to come back; where none is idle: 503 and Retry-After, -32010",
		"too_many_connections"},
	{"", "unknown", (*host).unknownBytes,
		"bytes that connections without an authenticated request take: an eighth of the memory, 8 MiB " +
			"at least", "the oldest of them ends", "unauthenticated_connections"},
	{"", "address_unknown", (*host).addressBytes,
		"the same of one address, or of one /64 of IPv6, but for trusted proxies: half of it",
		"the oldest of them ends", "unauthenticated_connections"},
	{"max_address_connections", "", nil, "connections of one address", closes, "too_many_connections"},
	{"max_connections", "", nil, "connections of a tenant, by what they were first used for",
		"503 and Retry-After, -32010; the connection is closed", "overloaded"},
	{"", "socket_buffer", int64(socketBuffer),
		"bytes that the kernel keeps for a connection, each way", "whoever sends waits", ""},
	{"header_timeout", "", nil,
		"the handshake of TLS with the header fields of the first request or the preface of HTTP/2; " +
			"the header fields of each further request", closes, ""},
	{"idle_timeout", "", nil, "an unused connection", closes, ""},
	{"max_http2_streams", "", nil, "requests of one connection of HTTP/2", "REFUSED_STREAM", ""},
	{"", "http2_request", int64(streamable.RequestWindow),
		"bytes of the body of a request of HTTP/2 that come before they are read", "its client waits",
		""},
	{"", "http2_connection", int64(streamable.ConnectionWindow),
		"the same of all requests of one connection", "its client waits", ""},
	{"", "http2_resets", streamable.MaxResets,
		"requests that one such connection has taken back within 10 s",
		"GOAWAY; what is in flight goes on", ""},

	// Requests.
	{"max_header", "", nil, "bytes of the header fields", "431", ""},
	{"max_headers", "", nil, "header fields of a request", "431, -32600", "too_many_headers"},
	{"max_url", "", nil, "bytes of the request target", "414, -32600", "url_too_long"},
	{"max_body", "", nil, "bytes of a request", "413, -32012; the connection is closed", "too_large"},
	{"body_timeout", "", nil, "the body of a request; one that is faster than 10 KiB/s may take 120 s",
		"408, -32600; the connection is closed", "body_too_slow"},
	{"max_depth", "", nil, "nested objects and arrays", refuses, "limits"},
	{"max_tokens", "", nil, "names, values, beginnings and ends", refuses, "limits"},
	{"max_members", "", nil, "members of one object", refuses, "limits"},
	{"max_answer_depth", "", nil, "nested objects and arrays of a message of a server",
		"its request fails; the connection goes on", ""},
	{"max_answer_members", "", nil, "members of one object of it",
		"its request fails; the connection goes on", ""},
	{"", "json_digits", jsonrpc.DefaultDigits, "bytes of one number", refuses, "limits"},
	{"max_batch", "", nil, "messages of one array of 2025-03-26", refuses, "limits"},
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
	{"max_principal_rate", "", nil, "HTTP requests a second of one principal, twice as many at once",
		saysRetry, "rate_limited"},
	{"max_rate", "", nil, "the same of a tenant", saysRetry, "rate_limited"},
	{"", "retry_percent", quota.RetryPercent,
		"requests that may be sent once more when their server has died on them, of a hundred sent to " +
			"it: each at most once, and none that may change something, unless `replay` says so", unretried,
		"mcpd_requests_total"},
	{"", "retries_at_once", quota.MaxRetries, "the same, one right after the other", unretried,
		"mcpd_requests_total"},
	{"", "least_retries", quota.LeastRetries, "and in a minute in any case", unretried,
		"mcpd_requests_total"},
	{"max_auth_failures", "", nil, "failed authentications of one address in a minute",
		"429 and Retry-After; who has a key is not held up", "rate_limited"},

	// Sessions.
	{"max_principal_sessions", "", nil,
		"sessions of one principal; with 0 its share of `max_sessions`: half of that is kept for the " +
			"keys of a tenant in equal parts", saysRetry, "rate_limited"},
	{"max_sessions", "", nil, "sessions of a tenant", idleEnds, ended},
	{"max_total_sessions", "", nil,
		"sessions of all tenants: half of it is kept for them in equal parts; a tenant below its part " +
			"is always served", idleEnds, ended},
	{"", "peers", session.MaxPeers,
		"kinds of clients without a session (2026-07-28) of one principal: they differ in what they " +
			"declare, as far as it matters",
		"the longest idle is forgotten; with requests of all in flight 429 and Retry-After, -32010",
		"rate_limited"},
	{"", "capability_sets", session.MaxSets,
		"sets of capabilities that servers are told of for one principal of a tenant, in both eras " +
			"together, and so the connections to a server that it causes by varying them",
		"a client is served by the largest set that has nothing it lacks", ""},
	{"max_principal_initialize_rate", "", nil,
		"sessions that one principal may open a second, twice as many at once", saysRetry,
		"rate_limited"},
	{"max_initialize_rate", "", nil, "the same of a tenant", saysRetry, "rate_limited"},
	{"session_init", "", nil, "a session from its opening to its last handshake message", ends, ended},
	{"session_idle", "", nil, "a session without request or stream", ends, ended},
	{"session_age", "", nil, "a session in all", ends, ended},

	// Streams.
	{"max_streams", "", nil, "GET streams of one session", saysRetry, "too_many_streams"},
	{"", "browser_streams", streamable.BrowserStreams,
		"streams without a call in flight of one web origin, principal and browser over plain " +
			"HTTP/1.1, where a browser has six connections for all its tabs",
		"the one that has waited longest ends with an event that says when to come back", ""},
	{"", "listens", server.MaxListens,
		"subscriptions/listen of all clients of one kind without a session: each is a response that " +
			"stays open", "-32603, overloaded", "overloaded"},
	{"", "listen_uris", protocol.MaxSubscribedURIs,
		"resources of one subscriptions/listen; and those that a session is subscribed to", "-32602",
		"invalid_params"},
	{"", "subscribed", int64(protocol.MaxSubscribedBytes), "bytes of the URIs of the latter", "-32602",
		"invalid_params"},
	{"", "references", catalog.MaxReferences,
		"URIs of one principal that servers have given beside their lists, and that lead back to " +
			"whoever gave them", "the oldest is forgotten: it is not found by that any more", ""},
	{"", "references", int64(catalog.MaxReferenceBytes), "bytes of the same", "as above", ""},
	{"", "uri", int64(catalog.MaxURI),
		"bytes of the URI of a resource that a server lists or a client subscribes to",
		"-32602; one that a server lists is left out", "invalid_params"},
	{"max_stream_events", "", nil, "events that wait for a client; and that are kept for its return",
		queues, "mcpd_notifications_dropped_total"},
	{"max_stream_size", "", nil, "bytes of the same", queues, "mcpd_notifications_dropped_total"},
	{"stall_timeout", "", nil, "a write of which nothing is read",
		"the stream is cut; its client may resume it", "slow_consumer"},
	{"keep_alive", "", nil, "silence of a stream", "a comment is sent", ""},
	{"stream_age", "", nil, "a GET stream", "it ends with an event that says when to come back", ""},
	{"max_history", "", nil, "bytes kept for the return of one session's client", forgets, ""},
	{"max_total_history", "", nil, "bytes kept for all sessions", forgets, ""},
	{"history_time", "", nil, "an event that is kept", forgets, ""},
	{"", "held_messages", otp.MaxHeld,
		"messages of tenants that wait at a shared component because the tenant has crashed it a " +
			"hundred times in a row, or made it hang", "further ones are dropped", ""},
	{"", "records_aside", storage.MaxAside,
		"stored records that crashed whoever read them, kept in the state", "further ones are deleted",
		""},
	{"", "saved_history", int64(streamable.MaxSavedBytes),
		"bytes of the same on the disk, of streams that their clients have left",
		"the oldest is not there for the next host", ""},

	// Servers.
	{"", "upstream_message", int64(protocol.MaxUpstreamMessage), "a message of a server",
		"its request fails; the connection goes on", ""},
	{"", "question_id", int64(protocol.MaxQuestionID), "the id of what a server asks",
		"the question is skipped; the connection goes on", ""},
	{"", "answer_batch", protocol.MaxAnswerBatch, "messages of one array of a server",
		"its request fails; the connection goes on", ""},
	{"", "http2_answer", (*host).window,
		"bytes of a server's answer over HTTP/2 that come before they are read, which count for " +
			"nobody: one in 4096 of the memory, 64 KiB at least, 4 MiB at most", "its server waits", ""},
	{"", "request_id", protocol.ReservedRequestID,
		"ids of the requests on one connection to a server, of 2^53-1 that peers can hold",
		"from 90 % the connection is replaced as soon as it has no call in flight; here it sends no " +
			"request any more", "mcpd_upstream_request_id_usage_ratio"},
	{"call_timeout", "", nil, "a call, from its last progress", "-32009, and the server is told",
		"mcpd_requests_total"},
	{"call_timeout_max", "", nil, "a call in all", "-32009, and the server is told",
		"mcpd_requests_total"},
	{"", "news_at_once", client.NewsBurst,
		"notifications, questions and answers to nothing, of one connection, that are read one right " +
			"after the other; of progress four times as many", readsLater,
		"mcpd_upstream_paced_seconds_total"},
	{"", "news_per_second", client.NewsRate, "and in a second, beyond those; the same", readsLater,
		"mcpd_upstream_paced_seconds_total"},
	{"", "deliveries_at_once", notification.MaxDeliveries,
		"listeners that a notification is delivered to before what else the tenant's dispatcher has to do", "the rest is delivered after that", ""},
	{"", "echoes", notification.MaxEchoes,
		"resources of a tenant of which it is remembered, for 200 ms, which instances of a server have " +
			"told of a change", "a change may be told once for each instance", ""},
	{"", "progress_at_once", client.ProgressBurst,
		"reports of one call's progress that its client is sent one right after the other", paced,
		"mcpd_notifications_dropped_total"},
	{"", "progress_per_second", client.ProgressRate, "and in a second, beyond those", paced,
		"mcpd_notifications_dropped_total"},
	{"request_timeout", "", nil, "what the host asks a server",
		"as if the server had not answered", ""},
	{"list_timeout", "", nil, "a page of a list that the host asks a server for",
		"as if the server had not answered; it is asked again later", ""},
	{"", "list_grace", client.ListGrace, "lists that a server still owes when it has shaken hands",
		"calls are sent to it; what it lists later is announced", ""},
	{"", "decline_wait", client.DeclineWait,
		"a question of a server with several connections that this one has nobody to ask",
		"it is refused, as soon as it is open at no other connection", ""},
	{"", "asked_questions", client.MaxAsked,
		"open questions of one server that are remembered, so that one connection does not refuse what " +
			"a user is asked over another", "the oldest is forgotten", ""},
	{"", "away_grace", client.AwayGrace, "calls that wait for a server whose URL nothing answers at",
		"they are refused with -32008 and `retryAfterMs`, and so are later ones at once", ""},
	{
		"", "log_samples", telemetry.MaxSamples,
		"causes that have one line a minute for all: incidents of servers, ended sessions, servers " +
			"that print",
		"each further line is written as it comes, up to 20 a second", "",
	},
	{
		"", "trouble_statuses", client.MaxTrouble,
		"statuses that a server behind a URL answers with while it cannot be used, each with a warning",
		"it gets no further warning until the server was ready", "",
	},
	{
		"", "removed_servers", tenant.MaxRemoved,
		"servers of a tenant that reloads have removed, whose callers are told so",
		"the oldest is forgotten: its callers are told that there is no such server", "",
	},
	{"", "away_dial", upstreams.LastDial, "the pause between two dials of such a server",
		"it grows no longer", ""},
	{"", "question_hold", client.QuestionHold,
		"what a server asks before a session uses its connection", "it is refused", ""},
	{"", "restore_wait", client.RestoreWait,
		"calls of a server that has just started, until it has answered for the log level and the " +
			"subscriptions that clients want", "they are sent to it", ""},
	{
		"", "first_answers", client.FirstAnswersWait,
		"calls of a server that has asked something before its first, as for roots, until it has the " +
			"answer",
		"they are sent to it", "",
	},
	{
		"", "first_rest", client.FirstAnswersRest,
		"the part of that which a server has to act on the last answer",
		"they are sent to it", "",
	},
	{"", "refused_answer", client.RefusedAnswerWait,
		"a call whose server has refused the answer to its question, from the last that the server " +
			"says during it", "upstream_invalid, and the server is told", "mcpd_requests_total"},
	{"", "gone_after", client.GoneAfter,
		"a client without a request and a stream, while another uses the same connection",
		"it is not asked what a server asks outside of calls", ""},
	{"", "early_questions", client.MaxEarly,
		"such questions of one connection, and log lines before its handshake is over, of 4 KiB at most",
		"those that come later are refused at once, or dropped", ""},
	{"list_wait", "", nil, "a list that waits for servers which were never listed",
		"it is answered without them", ""},
	{"start_timeout", "", nil, "a server from its start to the end of its handshake",
		"its start has failed", "mcpd_upstream_starts_total"},
	{"", "changes_quiet", catalog.ChangesQuiet,
		"how long nothing changes before clients of all servers as one hear of a burst of changed lists",
		"they are told once", ""},
	{"", "changes_most", catalog.ChangesMost, "a burst that goes on",
		"they are told, and once more of the rest", ""},
	{"idle_stop", "", nil, "a server that sessions use and nothing needs",
		"it is ended, and started again by the next call", "mcpd_upstream_closed_total"},
	{"idle_release", "", nil, "a session without request and open stream",
		"it lets go of its servers, and has them again when its client is back",
		"mcpd_upstream_closed_total"},
	{"question_wait", "", nil,
		"calls of a server that has as many instances as it may, behind questions to other users",
		"-32009; a question whose client is gone or silent is given up before", "mcpd_requests_total"},
	{"park_time", "", nil, "a call that waits for its user", "-32009", "mcpd_requests_total"},
	{"", "telling", server.MaxTelling,
		"notifications of an extension from one client that wait for the connection to their server",
		"they are dropped", "mcpd_notifications_dropped_total"},
	{"", "untold", client.MaxTells, "the same that wait at a connection whose server is not ready",
		"they are dropped", "mcpd_notifications_dropped_total"},
	{"", "elicitations", elicitation.MaxAll,
		"pages that the sessions of one connection were asked to visit, and have not heard the end of",
		"the oldest of whoever has most is forgotten: its end is told to nobody",
		"mcpd_notifications_dropped_total"},
	{"", "elicitations_of_session", elicitation.MaxOwned, "the same of one session",
		"its oldest is forgotten", "mcpd_notifications_dropped_total"},
	{"", "tools", catalog.MaxItems, "tools, prompts or resources of one server",
		"those behind are left out", listsCut},
	{"", "stale_sessions", streamable.MaxStale,
		"how often a request is sent again because its server has replaced the session id meanwhile",
		"the session is lost, and a new one is begun", "mcpd_requests_total"},
	{"", "redirects", streamable.MaxRedirects,
		"redirects of one request to a server, all within its origin",
		"the last is the answer, which is no message", "mcpd_requests_total"},
	{"", "ca", int64(maxCA), "the file `ca` of a server",
		"the server is not connected to, and says why", ""},
	{"", "pem", int64(streamable.MaxPEM), "each of the files `tls.cert` and `tls.key`",
		"the host does not start, or goes on with those that it has, and says why", ""},
	{"", "askers", client.MaxAskers,
		"tools and prompts of one connection of which it is remembered that they ask their user",
		"a further one is called, and its question refused, while all instances are in use and users " +
			"are asked", ""},
	{"", "instance_rest", client.InstanceRest,
		"how long an instance beyond the first is kept that has no call, while no user is asked on the " +
			"first", "it ends; another is started when a call has to wait", ""},
	{"", "list_pages", client.MaxPages, "pages of one list", "no further page is asked for", listsCut},
	{"", "list", int64(client.MaxList), "one list", "no further page is asked for", listsCut},
	{"", "tool", int64(catalog.MaxItem), "the definition of one of them", "it is left out", listsCut},
	{"", "item_depth", catalog.MaxItemDepth,
		"how deep it nests, in the list of all servers: clients of the Python SDK read no deeper",
		"it is left out there, and told as an odd item", "mcpd_upstream_odd_items_total"},
	{"", "description", int64(catalog.MaxDescription), "its description",
		"the rest of it is cut off", listsCut},
	{"", "instructions", int64(catalog.MaxInstructions),
		"the instructions of a server in those of all servers", "the rest of them is cut off", listsCut},
	{"", "capabilities", int64(catalog.MaxCapabilities),
		"the capabilities of a server in those of all servers",
		"the standard ones are declared, without their settings", listsCut},
	{"", "recorded", int64(protocol.MaxRecorded),
		"the capabilities in the record of a session, which is stored",
		"it has the standard ones and the extensions that its client declares, without their settings; " +
			"the client is shown all", ""},
	{"", "stamp", int64(client.MaxStamp), "serverInfo where the host adds it to each result",
		"all but name and version is left out there", ""},
	{"", "bundled", int64(catalog.MaxBundled),
		"schemas of one server's tools that are embedded in those of its other tools, which refer to " +
			"them, in the list of all servers", "the outputSchema that refers to another is left out", ""},
	{"", "schema", int64(catalog.MaxSchema),
		"a schema of a tool, which is passed on: the host checks nothing against it and fetches " +
			"nothing for it", "the tool is left out", listsCut},
	{"", "tasks_of_principal", task.MaxPrincipal, "tasks of one principal that the host keeps",
		saysLater, "overloaded"},
	{"", "tasks_of_tenant", task.MaxTenant, "tasks of a tenant that the host keeps", saysLater,
		"overloaded"},
	{"", "task_ttl", tasks.MaxTTL, "how long a task is kept", "it is kept no longer", ""},
	{"", "bridge_wait", reconnect.Wait,
		"a request to `mcpd stdio` while its host is away, from its arrival",
		"-32008, with `retryable` and `maybeExecuted`; a subscription that was confirmed waits as long " +
			"as it takes", ""},
	{"", "stream_resume", streamable.ResumeTime,
		"a call whose stream has begun and broke off, of `mcpd stdio` or to a server behind a URL, " +
			"while nobody listens there",
		"-32008, with `maybeExecuted`: five attempts to take the stream up again have failed, each " +
			"after a pause that is up to a quarter longer", "mcpd_requests_total"},
	{"", "bridge_held", reconnect.MaxHeld, "requests that wait there", "overloaded, -32010", ""},
	{"", "bridge_kept", int64(reconnect.MaxKept),
		"bytes of requests without an answer that `mcpd stdio` keeps for the next host",
		"one more is sent without being kept, or refused while the host is away: overloaded, -32010", ""},
	{"", "bridge_questions", reconnect.MaxQuestions,
		"questions of the host that are open at the client of `mcpd stdio`",
		"the host is told that the client is overloaded", ""},
	{"", "line", int64(stdio.MaxMessage), "a line of a child process", "it is skipped", ""},
	{"", "starting", runtime.GOMAXPROCS(0),
		"programs that are starting at the same time: one for each core", waits,
		"mcpd_spawns_delayed_total"},
	{"", "starts_at_once", stdio.StartBurst,
		"programs started one right after the other; tenants take turns", waits,
		"mcpd_spawns_delayed_total"},
	{"", "starts_per_second", stdio.StartRate, "programs started in a second, beyond those", waits,
		"mcpd_spawns_delayed_total"},
	{"", "child_files", stdio.DefaultFiles,
		"open files of a child process, unless its server says otherwise: `max_files`", "it gets EMFILE",
		""},
	{"", "child_file_size", int64(stdio.DefaultFileSize), "a file that it writes: `max_file_size`",
		"SIGXFSZ", ""},
	{"", "child_memory", int64(0),
		"memory of a child process and all that it starts; none unless its server says so, with " +
			"`max_memory`, and there is a control group", "SIGKILL: `out of memory`",
		"mcpd_upstream_exits_total"},
	{"", "child_processes", 0, "processes and threads of it, as above: `max_processes`",
		"it gets EAGAIN", ""},
	{"", "stray", int64(stdio.MaxStray),
		"bytes of lines in a row of a program that are no messages, with 64 more for each line",
		"it is ended: `not a message stream`", "mcpd_upstream_exits_total"},
	{"", "log_lines_at_once", lineRate.Burst,
		"lines of a server beside its messages that the log gets one right after the other",
		"they are counted with the next one", "mcpd_upstream_stderr_lines_total"},
	{"", "log_lines_per_second", int(time.Second / lineRate.Every), "and in a second, beyond those",
		"as above", "mcpd_upstream_noise_lines_total"},

	// The host.
	{"", "kept", (*host).keepable,
		"bytes that all tenants keep (requests in flight or being read, held calls, tasks, histories, " +
			"unread answers, lists, what clients are shown of them and references beside them, " +
			"notifications, messages for servers, sessions, changes of the state that are not written): " +
			"half of the memory, and one message of any size while nobody uses more than a share", keeps,
		"overloaded"},
	{"", "tenant_kept", (*host).guaranteed,
		"bytes of the same that are guaranteed to each tenant: half of it in equal parts; the other " +
			"half is for whoever needs it", keeps, "overloaded"},
	{"", "tenant_answers", (*host).share,
		"bytes that servers have sent a tenant and its clients have not read, a message of more than " +
			"64 KiB as far as it has come, rounded up to twice that at most: an eighth of the memory, 16 " +
			"MiB at least, and one message of any size beyond it: of the tenants above their share one at " +
			"a time", "the server is not read until clients have, or are cut", "slow_consumer"},
	{"", "tenant_bodies", (*host).ownBodies,
		"bytes of requests of more than 64 KiB of a tenant that are being read, each as far as it has " +
			"come, rounded up to twice that at most: one part in 32 of the memory, 4 MiB at least; one of " +
			"any size passes", inTurn, "overloaded"},
	{"", "tenant_waiting_bodies", waitingBodies,
		"requests of more than 64 KiB of a tenant that wait for that", saysLater, "overloaded"},
	{"", "spare", (*host).spare,
		"bytes of buffers in which large messages were read, kept for the next ones of anybody until " +
			"the garbage is collected twice: one in 32 of the memory, 32 MiB at most",
		"a buffer is not kept", ""},
	{"memory", "", nil, "memory of mcpd itself, as far as it is used before the garbage is " +
		"collected all the time",
		"from 85 %: no new session, task or held call of a tenant that keeps more than its share, from " +
			"95 %: no new call of it, from 100 %: nothing new of anybody: 503 and Retry-After, -32010",
		"overloaded"},
	{"drain", "", nil, "how long clients have to finish once the host was told to stop; calls are " +
		"served for two thirds of it",
		"503 and Retry-After, -32008; near the end what is still in flight is answered with an error",
		"stopping"},
	{"", "drain_settle", settle,
		"and how long nothing must have been in flight for the host to stop earlier", "the host stops",
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

// exported yields the bounds for the metrics.
func (h *host) exported() iter.Seq[telemetry.Limit] {
	return func(yield func(telemetry.Limit) bool) {
		for b := range h.now().config.Bounds() {
			if b.Key == "memory" { // it may have been detected
				b.Value = int64(h.options.Memory)
			}
			name, value := measure(b.Key, b.Value)
			if !yield(telemetry.Limit{Name: name, Tenant: b.Tenant, Help: byKey[b.Key].what, Value: value}) {
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
				l.value); !yield(telemetry.Limit{Name: name, Help: l.what, Value: value}) {
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
