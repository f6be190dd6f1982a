package config

import (
	"sync"
	"time"

	"mcpd/gateway/auth"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/protocol/terms"
)

// Reload is the effect of a reload on a changed key.
type Reload string

// The effects of a reload.
const (
	AtOnce   Reload = "at once"       // the next request sees the change
	NewOnes  Reload = "new sessions"  // open sessions keep the old value
	Replaces Reload = "reconnects"    // the server's connections are replaced
	Restart  Reload = "needs restart" // the change is reported, and the old value kept
)

// Key is one row of the table: the complete description of a key.
type Key struct {
	Path    string // `*` stands for a name, `[]` for an item
	Type    Type
	Default string // as written in a file; "" for none
	From    string // the key whose value is the default instead
	Example string // a value that differs from the default
	Reload  Reload
	Doc     string

	at func(scope) any // returns a pointer to the field for the value
}

// scope is the thing that a key of the file belongs to. Its fields are set as deep as the place
// is.
type scope struct {
	config *Config
	tenant *Tenant
	server *tenant.Server
	key    *auth.Key
	kind   *string // the `type` of an entry of mcpServers
	path   string  // the concrete path of the place, for look-ups of positions
}

// hostKeys are the keys at the top.
var hostKeys = append([]Key{
	{"listen", listen, "127.0.0.1:7420", "", `["127.0.0.1:8080", "unix:/run/mcpd/mcp.sock"]`, Restart,
		"where MCP is served, one address or a list; beyond loopback every tenant needs a key. 0.0.0.0 " +
			"is all addresses of IPv4, [::] of IPv4 and IPv6. Whoever connects to a Unix socket counts as " +
			"127.0.0.1", func(s scope) any {
			return &s.config.Listen
		}},
	{"hosts", hosts, "", "", "[mcp.example.com]", AtOnce,
		"names accepted in Host, at any port unless one is written, beside those of loopback and of " +
			"`listen`; .example.com is every subdomain of example.com", func(s scope) any {
			return &s.config.Hosts
		}},
	{"origins", origins, "", "", "[https://app.example.com]", AtOnce,
		"web pages that may call, with credentials, beside the listener's own; also extensions, as " +
			"chrome-extension://ID, and vscode-webview://*. Over plain http a browser has six connections " +
			"to a host for all its tabs, and each open stream takes one: with tls there is HTTP/2, and no " +
			"such limit. Requests of pages may lack fields Mcp-Param-*, which the official SDK does not " +
			"send from a browser", func(s scope) any {
			return &s.config.Origins
		}},
	{"trusted_proxies", prefixes, "", "", "[10.0.0.0/8]", AtOnce,
		"peers whose X-Forwarded-For and X-Forwarded-Proto are believed", func(s scope) any {
			return &s.config.TrustedProxies
		}},
	{"proxy_protocol", boolean, "false", "", "true", AtOnce,
		"connections of `trusted_proxies` begin with a header of the PROXY protocol, version 1 or 2, " +
			"which says who has connected to the proxy; without one they are closed. Nobody else may send " +
			"one", func(s scope) any {
			return &s.config.ProxyProtocol
		}},
	{"base_path", basePath, "", "", "/tools", AtOnce,
		"what stands before every path where a proxy passes requests on without removing it; the paths " +
			"without it are served too", func(s scope) any {
			return &s.config.BasePath
		}},
	{"h2c", boolean, "false", "", "true", Restart,
		"HTTP/2 without TLS is spoken too, to proxies that begin with it (prior knowledge)",
		func(s scope) any {
			return &s.config.H2C
		}},
	{"unix.mode", fileMode, "0660", "", `"0600"`, Restart,
		"permissions of the Unix sockets of `listen`", func(s scope) any { return &s.config.Unix.Mode }},
	{"unix.owner", owner, "", "", "www-data", Restart,
		"user, user:group or :group who owns them; else those of the process", func(s scope) any {
			return &s.config.Unix.Owner
		}},
	{"tls.cert", file, "", "", "/etc/mcpd/cert.pem", AtOnce,
		"certificate chain of the MCP listener; with it only https is spoken. The file is read again " +
			"every 10 s and with a reload, and so is the key: a pair that fits replaces the one before " +
			"for new connections. A reload may name other files, and is refused if they cannot be used. " +
			"To begin or to end with https needs a restart", func(s scope) any {
			return &s.config.TLS.Cert
		}},
	{"tls.key", file, "", "", "/etc/mcpd/key.pem", AtOnce,
		"private key of the certificate", func(s scope) any { return &s.config.TLS.Key }},
	{"admin.listen", address, "127.0.0.1:7421", "", "127.0.0.1:8081", Restart,
		"where health, metrics and the supervision tree are served; loopback only", func(s scope) any {
			return &s.config.Admin.Listen
		}},
	{"log.format", oneOf("auto", "text", "json"), "auto", "", "json", Restart,
		"how a line looks; auto is text on a terminal and json elsewhere", func(s scope) any {
			return &s.config.Log.Format
		}},
	{"log.level", oneOf("debug", "info", "warn", "error"), "info", "", "debug", AtOnce,
		"the least that is logged", func(s scope) any { return &s.config.Log.Level }},
	{"environment", oneOf("development", "staging", "production"), "", "", "staging", AtOnce,
		"what this host is for. In production a fault is armed only by whoever says that he means it, " +
			"even with --chaos",
		func(s scope) any { return &s.config.Environment }},
	{"state_dir", file, "", "", "/var/lib/mcpd", Restart,
		"what survives a restart; else $STATE_DIRECTORY, $XDG_STATE_HOME/mcpd, or /var/lib/mcpd as " +
			"root; never in the working directory", func(s scope) any {
			return &s.config.StateDir
		}},
	{"limits.max_body", size(1<<10, 64<<20), "4MiB", "", "1MiB", AtOnce,
		"bytes of a request", func(s scope) any { return &s.config.MaxBody }},
	{"limits.max_total_sessions", count(1, 2_000_000), "200000", "", "1000", AtOnce,
		"open sessions of all tenants together. Half of it is guaranteed to the tenants, in equal " +
			"parts that stay reserved; beyond its part a tenant uses what is left. At the cap an idle " +
			"session makes room, first of the tenant that is furthest above its part; one with a call in " +
			"flight or an open stream never does", func(s scope) any {
			return &s.config.MaxSessions
		}},
	{"limits.memory", size(32<<20, 1<<44), "", "", "512MiB", Restart,
		"memory of mcpd itself, without its servers; else GOMEMLIMIT, the limit of its cgroup, or what " +
			"the machine has. Near it new sessions, then new calls are refused of tenants that keep more " +
			"than their share, and of all when nothing is left",
		func(s scope) any { return &s.config.Memory }},
	{"limits.drain", span(time.Second, 10*time.Minute), "25s", "", "10s", Restart,
		"how long clients have to finish once mcpd was told to stop. Calls of open sessions are served " +
			"for two thirds of it and then refused; near the end what is still in flight is answered with " +
			"an error", func(s scope) any {
			return &s.config.Drain
		}},
}, edgeKeys...)

// limitKeys exist at the top, where they are the default of every tenant, and in a tenant.
func limitKeys(at func(scope) *tenant.Limits) []Key {
	const day = 24 * time.Hour
	return []Key{
		{"limits.max_sessions", count(1, 1_000_000), "100000", "", "500", AtOnce,
			"open sessions of a tenant; at the cap the longest idle makes room, and one with a call in " +
				"flight or an open stream never does", func(s scope) any {
				return &at(s).MaxSessions
			}},
		{"limits.max_principal_sessions", count(0, 1_000_000), "0", "", "50", AtOnce,
			"open sessions of one principal: at the bound its own longest idle session makes room, and " +
				"with all of them busy one more is refused. With 0, max_sessions is shared out between the " +
				"keys of a tenant that has several, as max_total_sessions is between tenants: half of it in " +
				"equal parts that stay reserved, the other half to whoever comes first, so that one key " +
				"never has more than its part and that half; a tenant with one key or none has no such bound",
			func(s scope) any {
				return &at(s).MaxPrincipalSessions
			}},
		{"limits.max_connections", count(0, 1_000_000), "0", "", "1000", AtOnce,
			"connections of a tenant's clients; 0 is no bound", func(s scope) any {
				return &at(s).MaxConnections
			}},
		{"limits.max_rate", count(0, 1_000_000), "0", "", "500", AtOnce,
			"HTTP requests a second of a tenant, twice as many at once; 0 is no bound", func(s scope) any {
				return &at(s).MaxRate
			}},
		{"limits.max_principal_rate", count(0, 1_000_000), "0", "", "50", AtOnce,
			"the same, of one principal", func(s scope) any { return &at(s).MaxPrincipalRate }},
		{"limits.max_initialize_rate", count(0, 1_000_000), "0", "", "100", AtOnce,
			"sessions that a tenant may open a second, twice as many at once; 0 is no bound",
			func(s scope) any {
				return &at(s).MaxInitializeRate
			}},
		{"limits.max_principal_initialize_rate", count(0, 1_000_000), "0", "", "10", AtOnce,
			"the same, of one principal", func(s scope) any { return &at(s).MaxPrincipalInitializeRate }},
		{"limits.max_pending", count(1, 10_000), "1000", "", "200", AtOnce,
			"requests of a tenant in flight", func(s scope) any { return &at(s).MaxPending }},
		{"limits.max_session_pending", count(1, 2_560), "256", "", "20", AtOnce,
			"requests of one session in flight", func(s scope) any { return &at(s).MaxSessionPending }},
		{"limits.max_principal_pending", count(0, 10_000), "0", "", "100", AtOnce,
			"requests of one principal in flight; 0 is no bound", func(s scope) any {
				return &at(s).MaxPrincipalPending
			}},
		{"limits.session_age", span(0, 7*day), "0s", "", "24h", AtOnce,
			"a session ends so long after it was opened, whatever goes on; 0s is no bound",
			func(s scope) any {
				return &at(s).SessionAge
			}},
		{"limits.session_idle", span(time.Second, 7*day), "24h", "", "1h", AtOnce,
			"a session without request or open stream ends after it; the time goes on while the host is " +
				"restarted, and while there is none", func(s scope) any {
				return &at(s).SessionIdle
			}},
		{"limits.session_init", span(10*time.Millisecond, 10*time.Minute), "30s", "", "5s", NewOnes,
			"a session that is not initialized by then ends", func(s scope) any {
				return &at(s).SessionInit
			}},
		{"limits.call_timeout", span(time.Millisecond, 15*time.Minute), "55s", "", "10s", AtOnce,
			"tools/call, prompts/get and resources/read; progress starts it anew. Clients usually wait 60 " +
				"s, and so read our reason", func(s scope) any {
				return &at(s).CallTimeout
			}},
		{"limits.call_timeout_max", span(time.Millisecond, time.Hour), "15m", "", "20m", AtOnce,
			"the same calls in all, whatever progress they report", func(s scope) any {
				return &at(s).CallTimeoutMax
			}},
		{"limits.request_timeout", span(time.Millisecond, time.Minute), "5s", "", "2s", AtOnce,
			"what mcpd itself asks a server: probes, pings", func(s scope) any {
				return &at(s).RequestTimeout
			}},
		{"limits.list_timeout", span(time.Millisecond, 10*time.Minute), "50s", "", "20s", AtOnce,
			"each page of a list that mcpd itself asks a server for; below the 60 s that clients usually " +
				"wait", func(s scope) any {
				return &at(s).ListTimeout
			}},
		{"limits.list_wait", span(0, time.Minute), "10s", "", "1s", AtOnce,
			"how long a list waits for servers that are starting and were never listed", func(s scope) any {
				return &at(s).ListWait
			}},
		{"limits.start_timeout", span(10*time.Millisecond, 10*time.Minute), "60s", "", "20s", Replaces,
			"a server from its start to the end of its handshake", func(s scope) any {
				return &at(s).StartTimeout
			}},
		{"limits.idle_stop", span(0, 7*day), "0s", "", "10m", Replaces,
			"a server that no call, task, question or subscription needs for so long is ended, and " +
				"started again by the next call; 0s ends none that sessions use, because what a program " +
				"keeps between calls is lost. The connection to a URL is closed, and the next call goes on " +
				"with its session if it is one of Streamable HTTP",
			func(s scope) any { return &at(s).IdleStop }},
		{"limits.idle_release", span(0, 7*day), "15m", "", "1h", Replaces,
			"upstream connections and subscriptions of a session without request or open stream are " +
				"closed after it, as clients leave that never end their sessions, and made again when its " +
				"client is back. Nothing that a server keeps for a session is lost: the next request goes on " +
				"with the session of a URL, and a program, HTTP+SSE or built-in server of one session alone, " +
				"or a program with max_instances 1, is not let go of. 0s lets go of none",
			func(s scope) any { return &at(s).IdleRelease }},
		{"limits.park_time", span(time.Second, time.Hour), "5m", "", "2m", AtOnce,
			"how long a call may wait for its user", func(s scope) any { return &at(s).ParkTime }},
		{"limits.question_wait", span(5*time.Second, 10*time.Minute), "30s", "", "1m", AtOnce,
			"how long calls of a server that has max_instances wait for users who are asked something " +
				"during other calls. Then they are refused. A question is given up meanwhile when its client " +
				"is gone, or is one of 2026-07-28 that has not come back for so long", func(s scope) any {
				return &at(s).QuestionWait
			}},
	}
}

// negotiationKeys exist at the top, where they are the default of every tenant, and in a tenant.
func negotiationKeys(at func(scope) *protocol.Negotiation) []Key {
	return []Key{
		{"negotiation.mode", mode, "spec", "", "strict", NewOnes,
			"an unsupported revision is answered with the best one (spec) or refused (strict)",
			func(s scope) any {
				return &at(s).Mode
			}},
		{"negotiation.default_version", revision, "", "", "2025-06-18", NewOnes,
			"assumed when initialize names none; without it that is refused", func(s scope) any {
				return &at(s).Default
			}},
		{"negotiation.min_version", revision, "2024-11-05", "", "2025-03-26", NewOnes,
			"the oldest revision that is accepted", func(s scope) any { return &at(s).Floor }},
		{"negotiation.max_version", revision, protocol.Latest.String(), "", "2025-11-25", NewOnes,
			"the newest revision that is accepted", func(s scope) any { return &at(s).Ceiling }},
	}
}

// termsKeys exist at the top, where they are the default of every tenant, and in a tenant.
func termsKeys(at func(scope) *terms.Rules) []Key {
	return []Key{
		{"negotiation_api.require_negotiation", boolean, "false", "", "true", AtOnce,
			"clients of the negotiation API have to negotiate first; without it there are anonymous ones",
			func(s scope) any {
				return &at(s).Required
			}},
		{"negotiation_api.requires.tool", need, "sampling", "", "acme.review@2", AtOnce,
			"what a client that negotiated must have declared to call a tool: a capability, with @ the " +
				"least version of it, or none",
			func(s scope) any { return &at(s).Needs[terms.Tool] }},
		{"negotiation_api.requires.resource", need, "none", "", "acme.read", AtOnce,
			"the same, to read a resource", func(s scope) any { return &at(s).Needs[terms.Resource] }},
		{"negotiation_api.requires.subscription", need, "notifications", "", "none", AtOnce,
			"the same, to hear of changes of a resource", func(s scope) any {
				return &at(s).Needs[terms.Subscription]
			}},
		{"negotiation_api.anonymous.tool", boolean, "true", "", "false", AtOnce,
			"a client that did not negotiate may call tools", func(s scope) any {
				return &at(s).Anonymous[terms.Tool]
			}},
		{"negotiation_api.anonymous.resource", boolean, "true", "", "false", AtOnce,
			"and read resources", func(s scope) any { return &at(s).Anonymous[terms.Resource] }},
		{"negotiation_api.anonymous.subscription", boolean, "false", "", "true", AtOnce,
			"and hear of changes of resources", func(s scope) any {
				return &at(s).Anonymous[terms.Subscription]
			}},
		{"negotiation_api.session_idle", span(time.Second, 24*time.Hour), "1h", "", "10m", NewOnes,
			"a negotiated session ends when it is not used for so long", func(s scope) any {
				return &at(s).Idle
			}},
	}
}

// tenantKeys are the other keys of a tenant.
var tenantKeys = []Key{
	{"require_client_capabilities", needs, "", "", "{resources/read: resources}", AtOnce,
		"methods refused to clients that did not declare the capability", func(s scope) any {
			return &s.tenant.Require
		}},
	{"auth.keys[].name", keyName, "", "", "ci", AtOnce,
		"whom the key stands for; two keys may stand for one", func(s scope) any { return &s.key.Name }},
	{"auth.keys[].sha256", hash, "", "",
		"4d0e5e7a9c1b2f3d6a8b7c5e4f2a1d0c9b8e7f6a5d4c3b2a1f0e9d8c7b6a5f4e", AtOnce,
		"SHA-256 of the key; `mcpd key new` prints both", func(s scope) any { return &s.key.Hash }},
}

// serverKeys are the keys of a server. A server has exactly one of command, url and builtin.
var serverKeys = []Key{
	{"command", command, "", "", "npx", Replaces,
		"program spoken to over stdin and stdout: a whole path, or a name in PATH; no shell",
		func(s scope) any {
			return &s.server.Command
		}},
	{"args", args, "", "", "[-y, some-server]", Replaces,
		"its arguments", func(s scope) any { return &s.server.Args }},
	{"env", env, "", "", "{TOKEN: \"${env:TOKEN}\"}", Replaces,
		"added to its environment, which is short: MCPD_INSTANCE, by which the host knows it, and of " +
			"the host's own HOME, LANG, LC_*, " +
			"LOGNAME, PATH, SHELL, TERM, TMPDIR, TZ, USER, XDG_CACHE_HOME, XDG_CONFIG_HOME, " +
			"XDG_DATA_HOME, XDG_STATE_HOME", func(s scope) any {
			return &s.server.Env
		}},
	{"env_pass", envNames, "", "", "[SSH_AUTH_SOCK]", Replaces,
		"variables of mcpd's own environment that it gets", func(s scope) any {
			return &s.server.EnvPass
		}},
	{"cwd", cwd, "", "", "/srv/acme", Replaces,
		"its working directory", func(s scope) any { return &s.server.Cwd }},
	{"max_files", count(16, 1<<20), "1024", "", "4096", Replaces,
		"files that each of its processes may have open, as far as mcpd's own limit allows",
		func(s scope) any {
			return &s.server.Files
		}},
	{"max_file_size", size(1<<10, 1<<40), "1GiB", "", "100MiB", Replaces,
		"the largest file that it may write; more ends it with SIGXFSZ", func(s scope) any {
			return &s.server.FileSize
		}},
	{"max_memory", size(16<<20, 1<<40), "", "", "512MiB", Replaces,
		"memory that its processes may use together; more ends it. It needs a control group that mcpd " +
			"may write, `mcpd config check` tells whether there is one",
		func(s scope) any { return &s.server.Memory }},
	{"max_processes", count(4, 1<<20), "", "", "64", Replaces,
		"processes and threads of it, of which Node alone has 7; it is refused more. It needs a " +
			"control group, too",
		func(s scope) any { return &s.server.Processes }},
	{"url", link, "", "", "http://127.0.0.1:9001/mcp", Replaces,
		"endpoint of Streamable HTTP, or of HTTP+SSE of 2024-11-05", func(s scope) any {
			return &s.server.URL
		}},
	{"headers", headers, "", "", "{Authorization: \"Bearer ${env:TOKEN}\"}", Replaces,
		"sent with each request to the url", func(s scope) any { return &s.server.Headers }},
	{"proxy", proxy, "", "", "http://proxy.example.com:3128", Replaces,
		"proxy to the url: http, https, socks5 or socks5h, with user and password if it wants them, or " +
			"direct for none. Without it HTTPS_PROXY, HTTP_PROXY and NO_PROXY in mcpd's own environment " +
			"say which, but never for localhost", func(s scope) any {
			return &s.server.Proxy
		}},
	{"ca", cwd, "", "", "/etc/mcpd/ca.pem", Replaces,
		"file with certificates of authorities (PEM, 1MiB at most) by which the url, and an https " +
			"proxy, may be trusted beside those of the system; read anew for each new connection",
		func(s scope) any {
			return &s.server.CA
		}},
	{"transport", oneOf("sse"), "", "", "sse", Replaces,
		"how the url is spoken to: sse is HTTP+SSE; without it that is tried when Streamable HTTP fails",
		func(s scope) any {
			return &s.server.Transport
		}},
	{"builtin", builtin, "", "", "demo", Replaces,
		"a server inside mcpd", func(s scope) any { return &s.server.Builtin }},
	{"share", share, "auto", "", "tenant", Replaces,
		"who shares a connection; `mcpd config print` shows what auto means for it. Callers who share " +
			"one trust its server with each other: it sees the arguments of all of them, it can answer " +
			"one's pending call with another's data, ask one's user something during another's call where " +
			"it need not say which call it means, and put what one told it into the names, descriptions " +
			"and instructions that all see. Requests of 2026-07-28 have no session: with session, those " +
			"of one principal share one. A server that takes roots, or keeps state for its client, wants " +
			"session: else sessions of one principal share one process, which has the roots of the one " +
			"that was asked first", func(s scope) any {
			return &s.server.Share
		}},
	{"max_instances", count(1, 64), "4", "", "1", Replaces,
		"instances of it for those who share it, and so processes of a program at most: calls wait for " +
			"each other when it may ask something and does not say whom; 1 for a program that keeps state " +
			"between calls: one process serves them all, whatever their clients declare and whichever era " +
			"they speak. With more, clients of different kinds have different processes as long as there " +
			"may be another",
		func(s scope) any { return &s.server.Instances }},
	{"share_logs", boolean, "false", "", "true", Replaces,
		"whoever shares a connection hears its log lines, and reads in errors what it last wrote to " +
			"standard error, also when that may be about a call of another principal; by default such " +
			"text reaches the operator only, and callers get the incident",
		func(s scope) any { return &s.server.ShareLogs }},
	{"mute", boolean, "false", "", "true", Replaces,
		"it may ask clients nothing (sampling, elicitation, roots); calls of several clients then " +
			"never wait for each other",
		func(s scope) any { return &s.server.Mute }},
	{"min_version", revision, "", "", "2026-07-28", Replaces,
		"the oldest revision it is spoken to in; 2026-07-28 spares a server without handshake the " +
			"question for one",
		func(s scope) any { return &s.server.Speak.Floor }},
	{"max_version", revision, "", "", "2025-11-25", Replaces,
		"the newest; 2025-11-25 spares a server that has a handshake the question whether it has none",
		func(s scope) any { return &s.server.Speak.Ceiling }},
	{"intensity.restarts", count(0, 1000), "5", "", "3", Replaces,
		"restarts of a connection to it before that is given up for a while; of one behind a URL also " +
			"new sessions, before there are pauses of up to 1s between them", func(s scope) any {
			return &s.server.Intensity.Restarts
		}},
	{"intensity.within", span(time.Millisecond, time.Hour), "30s", "", "1m", Replaces,
		"the time in which they count", func(s scope) any { return &s.server.Intensity.Within }},
	{"replay", oneOf(tenant.ReplayNever, tenant.ReplayReadOnly, tenant.ReplayIdempotent),
		tenant.ReplayNever, "", tenant.ReplayReadOnly, Replaces,
		"tool calls that are sent once more when it died on them: of tools that say readOnlyHint, or " +
			"idempotentHint too; by default the client is told that they may have been executed",
		func(s scope) any { return &s.server.Replay }},
	{"start_timeout", span(10*time.Millisecond, 10*time.Minute), "", "limits.start_timeout",
		"90s", Replaces,
		"from its start to the end of its handshake", func(s scope) any {
			return &s.server.StartTimeout
		}},
	{"start", oneOf(tenant.StartOnDemand, tenant.StartEager), tenant.StartOnDemand, "",
		tenant.StartEager, Replaces,
		"on_demand is by its first call, or by the first list if it never listed; eager is with mcpd, " +
			"and kept running",
		func(s scope) any { return &s.server.Start }},
	{"idle_stop", span(0, 7*24*time.Hour), "", "limits.idle_stop", "10m", Replaces,
		"a program that is not needed for so long is ended although sessions use it, or the connection " +
			"to a URL is closed, and started again by the next call; an eager one is not",
		func(s scope) any { return &s.server.IdleStop }},
	{"idle_release", span(0, 7*24*time.Hour), "", "limits.idle_release", "1h", Replaces,
		"how long a session may be without request or open stream before it lets go of this server; 0s " +
			"is never, for a program that keeps something between calls",
		func(s scope) any { return &s.server.IdleRelease }},
	{"require_client_capabilities", needs, "", "", "{tools/call: sampling}", AtOnce,
		"as in the tenant, for this server, and before it", func(s scope) any {
			return &s.server.Require
		}},
}

// importKeys are the keys of an entry of mcpServers, as other clients write it.
var importKeys = []Key{
	{"type", oneOf("stdio", "http", "streamable-http", "streamableHttp", "sse"), "", "",
		"http", Replaces,
		"stdio with a command, the others with a url", func(s scope) any { return s.kind }},
	{"command", command, "", "", "npx", Replaces, "as in a server", func(s scope) any {
		return &s.server.Command
	}},
	{"args", args, "", "", "[-y, some-server]", Replaces, "as in a server", func(s scope) any {
		return &s.server.Args
	}},
	{"env", env, "", "", "{TOKEN: \"${TOKEN}\"}", Replaces, "as in a server", func(s scope) any {
		return &s.server.Env
	}},
	{"cwd", cwd, "", "", "/srv/acme", Replaces, "as in a server", func(s scope) any {
		return &s.server.Cwd
	}},
	{"url", link, "", "", "http://127.0.0.1:9001/mcp", Replaces, "as in a server", func(s scope) any {
		return &s.server.URL
	}},
	{"headers", headers, "", "", "{Authorization: \"Bearer ${TOKEN}\"}", Replaces, "as in a server",
		func(s scope) any {
			return &s.server.Headers
		}},
	{"proxy", proxy, "", "", "http://proxy.example.com:3128", Replaces, "as in a server",
		func(s scope) any {
			return &s.server.Proxy
		}},
	{"ca", cwd, "", "", "/etc/mcpd/ca.pem", Replaces, "as in a server", func(s scope) any {
		return &s.server.CA
	}},
}

// These functions return the storage of the keys that exist at the top and in a tenant.
func topLimits(s scope) *tenant.Limits             { return &s.config.Limits }
func ownLimits(s scope) *tenant.Limits             { return &s.tenant.Limits }
func topNegotiation(s scope) *protocol.Negotiation { return &s.config.Negotiation }
func ownNegotiation(s scope) *protocol.Negotiation { return &s.tenant.Negotiation }
func topTerms(s scope) *terms.Rules                { return &s.config.Terms }
func ownTerms(s scope) *terms.Rules                { return &s.tenant.Terms }

// Keys returns the table, in the order of the documentation.
func Keys() []Key { return table() }

var table = sync.OnceValue(func() []Key {
	keys := append([]Key(nil), hostKeys...)
	keys = append(keys, limitKeys(topLimits)...)
	keys = append(keys, negotiationKeys(topNegotiation)...)
	keys = append(keys, termsKeys(topTerms)...)
	keys = append(keys, under("mcpServers.*.", importKeys)...)
	keys = append(keys, under("tenants.*.", tenantKeys)...)
	keys = append(keys, under("tenants.*.", inherited(limitKeys(ownLimits)))...)
	keys = append(keys, under("tenants.*.", inherited(negotiationKeys(ownNegotiation)))...)
	keys = append(keys, under("tenants.*.", inherited(termsKeys(ownTerms)))...)
	keys = append(keys, under("tenants.*.servers.*.", serverKeys)...)
	return append(keys, under("tenants.*.mcpServers.*.", importKeys)...)
})

func under(prefix string, keys []Key) []Key {
	out := append([]Key(nil), keys...)
	for i := range out {
		out[i].Path = prefix + out[i].Path
	}
	return out
}

// inherited makes a tenant's keys default to the values at the top.
func inherited(keys []Key) []Key {
	for i := range keys {
		keys[i].Default, keys[i].From = "", keys[i].Path
	}
	return keys
}
