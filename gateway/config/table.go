package config

import (
	"sync"
	"time"

	"mcpd/gateway/auth"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/protocol/negotiation"
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
		"addresses that serve MCP: one, or a list. If other machines can reach one of them, every " +
			"tenant needs a key. 0.0.0.0 means all IPv4 addresses, [::] all IPv4 and IPv6 addresses. " +
			"Clients of a Unix socket count as 127.0.0.1", func(s scope) any {
			return &s.config.Listen
		}},
	{"hosts", hosts, "", "", "[mcp.example.com]", AtOnce,
		"names accepted in Host, in addition to those of loopback and of `listen`. A name without a " +
			"port matches every port; .example.com matches every subdomain of example.com",
		func(s scope) any {
			return &s.config.Hosts
		}},
	{"origins", origins, "", "", "[https://app.example.com]", AtOnce,
		"web pages that may call with credentials, in addition to the listener's own. Extensions are " +
			"written as chrome-extension://ID, webviews of VS Code as vscode-webview://*. Over plain " +
			"HTTP, a browser opens at most six connections to a host for all its tabs, and each open " +
			"stream takes one. TLS enables HTTP/2, which has no such limit. Requests from pages may lack " +
			"the fields Mcp-Param-*, because the official SDK does not send them from a browser",
		func(s scope) any {
			return &s.config.Origins
		}},
	{"trusted_proxies", prefixes, "", "", "[10.0.0.0/8]", AtOnce,
		"peers whose X-Forwarded-For and X-Forwarded-Proto are trusted", func(s scope) any {
			return &s.config.TrustedProxies
		}},
	{"proxy_protocol", boolean, "false", "", "true", AtOnce,
		"connections from `trusted_proxies` must begin with a header of the PROXY protocol, version 1 " +
			"or 2, which names the client of the proxy. Connections without the header are closed. No " +
			"other peer may send one", func(s scope) any {
			return &s.config.ProxyProtocol
		}},
	{"base_path", basePath, "", "", "/tools", AtOnce,
		"prefix of every path, for a proxy that forwards requests without removing it; the paths " +
			"without the prefix are served too", func(s scope) any {
			return &s.config.BasePath
		}},
	{"h2c", boolean, "false", "", "true", Restart,
		"also speak HTTP/2 without TLS, to proxies that begin with it (prior knowledge)",
		func(s scope) any {
			return &s.config.H2C
		}},
	{"unix.mode", fileMode, "0660", "", `"0600"`, Restart,
		"permissions of the Unix sockets of `listen`", func(s scope) any { return &s.config.Unix.Mode }},
	{"unix.owner", owner, "", "", "www-data", Restart,
		"owner of these sockets: user, user:group or :group; default is the user and group of the " +
			"process",
		func(s scope) any { return &s.config.Unix.Owner }},
	{"tls.cert", file, "", "", "/etc/mcpd/cert.pem", AtOnce,
		"certificate chain of the MCP listener; with it, only HTTPS is spoken. Certificate and key are " +
			"read again every 10 s and at a reload, and a matching pair applies to new connections. A " +
			"reload may name other files, and is refused if they cannot be used. Turning HTTPS on or off " +
			"needs a restart", func(s scope) any {
			return &s.config.TLS.Cert
		}},
	{"tls.key", file, "", "", "/etc/mcpd/key.pem", AtOnce,
		"private key of the certificate", func(s scope) any { return &s.config.TLS.Key }},
	{"admin.listen", address, "127.0.0.1:7421", "", "127.0.0.1:8081", Restart,
		"address of health, metrics and the supervision tree; loopback only", func(s scope) any {
			return &s.config.Admin.Listen
		}},
	{"log.format", oneOf("auto", "text", "json"), "auto", "", "json", Restart,
		"format of log lines; auto means text on a terminal and json otherwise", func(s scope) any {
			return &s.config.Log.Format
		}},
	{"log.level", oneOf("debug", "info", "warn", "error"), "info", "", "debug", AtOnce,
		"lowest level that is logged", func(s scope) any { return &s.config.Log.Level }},
	{"environment", oneOf("development", "staging", "production"), "", "", "staging", AtOnce,
		"purpose of this host. In production, faults are armed only after an explicit confirmation " +
			"(--i-know), even with --chaos",
		func(s scope) any { return &s.config.Environment }},
	{"state_dir", file, "", "", "/var/lib/mcpd", Restart,
		"directory of persistent state. Default: $STATE_DIRECTORY, else $XDG_STATE_HOME/mcpd, else " +
			"/var/lib/mcpd for root, else ~/.local/state/mcpd; never the working directory",
		func(s scope) any {
			return &s.config.StateDir
		}},
	{"limits.max_body", size(1<<10, 64<<20), "4MiB", "", "1MiB", AtOnce,
		"maximum size of a request", func(s scope) any { return &s.config.MaxBody }},
	{"limits.max_total_sessions", count(1, 2_000_000), "200000", "", "1000", AtOnce,
		"maximum number of open sessions of all tenants together. Half of it is guaranteed to the " +
			"tenants, in equal shares that stay reserved; beyond its share, a tenant uses what is left. " +
			"At the limit an idle session is evicted, first from the tenant that is furthest above its " +
			"share. A session with a call in flight or an open stream is never evicted", func(s scope) any {
			return &s.config.MaxSessions
		}},
	{"limits.memory", size(32<<20, 1<<44), "", "", "512MiB", Restart,
		"memory of mcpd itself, without its servers. Default: GOMEMLIMIT, else the limit of its cgroup " +
			"or the memory of the machine. Near the limit, tenants that use more than their share are " +
			"refused new sessions, then new calls. When nothing is left, all tenants are",
		func(s scope) any { return &s.config.Memory }},
	{"limits.drain", span(time.Second, 10*time.Minute), "25s", "", "10s", Restart,
		"time that clients have to finish after mcpd was told to stop. Calls of open sessions are " +
			"served for two thirds of this time and then refused. Near the end, requests still in flight " +
			"are answered with an error", func(s scope) any {
			return &s.config.Drain
		}},
}, edgeKeys...)

// limitKeys exist at the top, where they are the default of every tenant, and in a tenant.
func limitKeys(at func(scope) *tenant.Limits) []Key {
	const day = 24 * time.Hour
	return []Key{
		{"limits.max_sessions", count(1, 1_000_000), "100000", "", "500", AtOnce,
			"maximum number of open sessions of a tenant. At the limit, the session that is idle longest " +
				"is evicted. A session with a call in flight or an open stream is never evicted",
			func(s scope) any {
				return &at(s).MaxSessions
			}},
		{"limits.max_principal_sessions", count(0, 1_000_000), "0", "", "50", AtOnce,
			"maximum number of open sessions of one principal. At the limit, its own session that is idle " +
				"longest is evicted; if all are busy, a new one is refused. With 0, max_sessions is divided " +
				"among the keys of a tenant with several keys, as max_total_sessions is among tenants: half " +
				"of it in equal shares that stay reserved, the other half first come, first served. One key " +
				"thus never has more than its share and that half. A tenant with one key or none has no such " +
				"limit",
			func(s scope) any {
				return &at(s).MaxPrincipalSessions
			}},
		{"limits.max_connections", count(0, 1_000_000), "0", "", "1000", AtOnce,
			"maximum number of connections of a tenant's clients; 0 means no limit", func(s scope) any {
				return &at(s).MaxConnections
			}},
		{"limits.max_rate", count(0, 1_000_000), "0", "", "500", AtOnce,
			"maximum number of HTTP requests per second of a tenant, with bursts of twice as many; 0 " +
				"means no limit", func(s scope) any {
				return &at(s).MaxRate
			}},
		{"limits.max_principal_rate", count(0, 1_000_000), "0", "", "50", AtOnce,
			"maximum number of HTTP requests per second of one principal, with bursts of twice as many; 0 " +
				"means no limit", func(s scope) any {
				return &at(s).MaxPrincipalRate
			}},
		{"limits.max_initialize_rate", count(0, 1_000_000), "0", "", "100", AtOnce,
			"maximum number of new sessions per second of a tenant, with bursts of twice as many; 0 means " +
				"no limit",
			func(s scope) any {
				return &at(s).MaxInitializeRate
			}},
		{"limits.max_principal_initialize_rate", count(0, 1_000_000), "0", "", "10", AtOnce,
			"maximum number of new sessions per second of one principal, with bursts of twice as many; 0 " +
				"means no limit", func(s scope) any {
				return &at(s).MaxPrincipalInitializeRate
			}},
		{"limits.max_pending", count(1, 10_000), "1000", "", "200", AtOnce,
			"maximum number of requests in flight of a tenant", func(s scope) any {
				return &at(s).MaxPending
			}},
		{"limits.max_session_pending", count(1, 2_560), "256", "", "20", AtOnce,
			"maximum number of requests in flight of one session", func(s scope) any {
				return &at(s).MaxSessionPending
			}},
		{"limits.max_principal_pending", count(0, 10_000), "0", "", "100", AtOnce,
			"maximum number of requests in flight of one principal; 0 means no limit", func(s scope) any {
				return &at(s).MaxPrincipalPending
			}},
		{"limits.session_age", span(0, 7*day), "0s", "", "24h", AtOnce,
			"a session ends this long after it was opened, even if it is in use; 0s means no limit",
			func(s scope) any {
				return &at(s).SessionAge
			}},
		{"limits.session_idle", span(time.Second, 7*day), "24h", "", "1h", AtOnce,
			"a session without a request or an open stream ends after this time, which continues while " +
				"the host restarts or is down", func(s scope) any {
				return &at(s).SessionIdle
			}},
		{"limits.session_init", span(10*time.Millisecond, 10*time.Minute), "30s", "", "5s", NewOnes,
			"a session that is not initialized within this time ends", func(s scope) any {
				return &at(s).SessionInit
			}},
		{"limits.call_timeout", span(time.Millisecond, 15*time.Minute), "55s", "", "10s", AtOnce,
			"time limit of tools/call, prompts/get and resources/read; progress restarts it. Clients " +
				"usually wait 60 s, so with the default they receive the reason from mcpd", func(s scope) any {
				return &at(s).CallTimeout
			}},
		{"limits.call_timeout_max", span(time.Millisecond, time.Hour), "15m", "", "20m", AtOnce,
			"total time limit of the same calls, even if they report progress", func(s scope) any {
				return &at(s).CallTimeoutMax
			}},
		{"limits.request_timeout", span(time.Millisecond, time.Minute), "5s", "", "2s", AtOnce,
			"time limit of requests that mcpd itself sends to a server: probes and pings",
			func(s scope) any {
				return &at(s).RequestTimeout
			}},
		{"limits.list_timeout", span(time.Millisecond, 10*time.Minute), "50s", "", "20s", AtOnce,
			"time limit of each page of a list that mcpd itself requests from a server; below the 60 s " +
				"that clients usually wait", func(s scope) any {
				return &at(s).ListTimeout
			}},
		{"limits.list_wait", span(0, time.Minute), "10s", "", "1s", AtOnce,
			"maximum time that a list waits for servers that are starting and were never listed",
			func(s scope) any {
				return &at(s).ListWait
			}},
		{"limits.start_timeout", span(10*time.Millisecond, 10*time.Minute), "60s", "", "20s", Replaces,
			"time limit of a server from its start to the end of its handshake", func(s scope) any {
				return &at(s).StartTimeout
			}},
		{"limits.idle_stop", span(0, 7*day), "0s", "", "10m", Replaces,
			"a server that no call, task, question or subscription has needed for this time is stopped, " +
				"and started again by the next call. 0s stops no server that sessions use, because the state " +
				"that a program keeps between calls is lost. The connection to a URL is closed, and the next " +
				"call continues its session if that is one of Streamable HTTP",
			func(s scope) any { return &at(s).IdleStop }},
		{"limits.idle_release", span(0, 7*day), "15m", "", "1h", Replaces,
			"upstream connections and subscriptions of a session without a request or an open stream are " +
				"closed after this time, because some clients leave without ending their sessions, and are " +
				"made again when the client returns. No state that a server keeps for a session is lost: the " +
				"next request continues the session of a URL, and connections to a program, an HTTP+SSE " +
				"server or a built-in server of one session alone, or to a program with max_instances 1, are " +
				"kept. 0s closes none",
			func(s scope) any { return &at(s).IdleRelease }},
		{"limits.input_timeout", span(time.Second, time.Hour), "5m", "", "2m", AtOnce,
			"maximum time that a call may wait for its user", func(s scope) any {
				return &at(s).InputTimeout
			}},
		{"limits.question_wait", span(5*time.Second, 10*time.Minute), "30s", "", "1m", AtOnce,
			"maximum time that calls of a server with max_instances wait while users are asked something " +
				"during other calls; then the calls are refused. A question is dropped in the meantime if " +
				"its client is gone, or if a client of 2026-07-28 has not come back for this time",
			func(s scope) any {
				return &at(s).QuestionWait
			}},
	}
}

// negotiationKeys exist at the top, where they are the default of every tenant, and in a tenant.
func negotiationKeys(at func(scope) *protocol.Negotiation) []Key {
	return []Key{
		{"negotiation.mode", mode, "spec", "", "strict", NewOnes,
			"an unsupported revision is answered with the best supported one (spec) or refused (strict)",
			func(s scope) any {
				return &at(s).Mode
			}},
		{"negotiation.default_version", revision, "", "", "2025-06-18", NewOnes,
			"revision that is assumed if initialize names none; without this key, such a request is refused",
			func(s scope) any {
				return &at(s).Default
			}},
		{"negotiation.min_version", revision, "2024-11-05", "", "2025-03-26", NewOnes,
			"oldest revision that is accepted", func(s scope) any { return &at(s).Floor }},
		{"negotiation.max_version", revision, protocol.Latest.String(), "", "2025-11-25", NewOnes,
			"newest revision that is accepted", func(s scope) any { return &at(s).Ceiling }},
	}
}

// termsKeys exist at the top, where they are the default of every tenant, and in a tenant.
func termsKeys(at func(scope) *negotiation.Rules) []Key {
	return []Key{
		{"negotiation_api.require_negotiation", boolean, "false", "", "true", AtOnce,
			"clients of the negotiation API must negotiate first; with false, they may also be anonymous",
			func(s scope) any {
				return &at(s).Required
			}},
		{"negotiation_api.requires.tool", need, "sampling", "", "acme.review@2", AtOnce,
			"capability that a client that negotiated must have declared to call a tool, with its minimum " +
				"version after @, or none",
			func(s scope) any { return &at(s).Requires[negotiation.Tool] }},
		{"negotiation_api.requires.resource", need, "none", "", "acme.read", AtOnce,
			"capability that a client that negotiated must have declared to read a resource, or none",
			func(s scope) any {
				return &at(s).Requires[negotiation.Resource]
			}},
		{"negotiation_api.requires.subscription", need, "notifications", "", "none", AtOnce,
			"capability that a client that negotiated must have declared to be told of changes of a " +
				"resource, or none", func(s scope) any {
				return &at(s).Requires[negotiation.Subscription]
			}},
		{"negotiation_api.anonymous.tool", boolean, "true", "", "false", AtOnce,
			"a client that did not negotiate may call tools", func(s scope) any {
				return &at(s).Anonymous[negotiation.Tool]
			}},
		{"negotiation_api.anonymous.resource", boolean, "true", "", "false", AtOnce,
			"a client that did not negotiate may read resources", func(s scope) any {
				return &at(s).Anonymous[negotiation.Resource]
			}},
		{"negotiation_api.anonymous.subscription", boolean, "false", "", "true", AtOnce,
			"a client that did not negotiate may be told of changes of resources", func(s scope) any {
				return &at(s).Anonymous[negotiation.Subscription]
			}},
		{"negotiation_api.session_idle", span(time.Second, 24*time.Hour), "1h", "", "10m", NewOnes,
			"a negotiated session ends if it is not used for this time", func(s scope) any {
				return &at(s).Idle
			}},
	}
}

// tenantKeys are the other keys of a tenant.
var tenantKeys = []Key{
	{"require_client_capabilities", needs, "", "", "{resources/read: resources}", AtOnce,
		"methods that are refused to clients that did not declare the capability", func(s scope) any {
			return &s.tenant.Require
		}},
	{"auth.keys[].name", keyName, "", "", "ci", AtOnce,
		"principal that the key stands for; two keys may stand for one principal", func(s scope) any {
			return &s.key.Name
		}},
	{"auth.keys[].sha256", hash, "", "",
		"4d0e5e7a9c1b2f3d6a8b7c5e4f2a1d0c9b8e7f6a5d4c3b2a1f0e9d8c7b6a5f4e", AtOnce,
		"SHA-256 of the key; `mcpd key new` prints both", func(s scope) any { return &s.key.Hash }},
}

// serverKeys are the keys of a server. A server has exactly one of command, url and builtin.
var serverKeys = []Key{
	{"command", command, "", "", "npx", Replaces,
		"program that is spoken to over stdin and stdout: an absolute path, or a name in PATH; no " +
			"shell is used",
		func(s scope) any {
			return &s.server.Command
		}},
	{"args", args, "", "", "[-y, some-server]", Replaces,
		"arguments of the program", func(s scope) any { return &s.server.Args }},
	{"env", env, "", "", "{TOKEN: \"${env:TOKEN}\"}", Replaces,
		"variables that are added to the program's environment. Without them, that environment has " +
			"only MCPD_INSTANCE, by which the host recognizes the program, and of the host's own " +
			"variables HOME, LANG, LC_*, " +
			"LOGNAME, PATH, SHELL, TERM, TMPDIR, TZ, USER, XDG_CACHE_HOME, XDG_CONFIG_HOME, " +
			"XDG_DATA_HOME, XDG_STATE_HOME", func(s scope) any {
			return &s.server.Env
		}},
	{"env_pass", envNames, "", "", "[SSH_AUTH_SOCK]", Replaces,
		"variables of mcpd's own environment that are passed to the program", func(s scope) any {
			return &s.server.EnvPass
		}},
	{"cwd", cwd, "", "", "/srv/acme", Replaces,
		"working directory of the program", func(s scope) any { return &s.server.Cwd }},
	{"max_files", count(16, 1<<20), "1024", "", "4096", Replaces,
		"maximum number of open files of each of its processes, as far as mcpd's own limit allows",
		func(s scope) any {
			return &s.server.Files
		}},
	{"max_file_size", size(1<<10, 1<<40), "1GiB", "", "100MiB", Replaces,
		"size of the largest file that a process may write; a larger file ends the process with SIGXFSZ",
		func(s scope) any {
			return &s.server.FileSize
		}},
	{"max_memory", size(16<<20, 1<<40), "", "", "512MiB", Replaces,
		"memory that its processes may use together; using more ends the program. This limit needs a " +
			"control group that mcpd may write; `mcpd config check` says whether there is one",
		func(s scope) any { return &s.server.Memory }},
	{"max_processes", count(4, 1<<20), "", "", "64", Replaces,
		"maximum number of its processes and threads (Node alone has 7); the program is refused more. " +
			"This limit also needs a control group",
		func(s scope) any { return &s.server.Processes }},
	{"url", link, "", "", "http://127.0.0.1:9001/mcp", Replaces,
		"endpoint of Streamable HTTP, or of HTTP+SSE of 2024-11-05", func(s scope) any {
			return &s.server.URL
		}},
	{"headers", headers, "", "", "{Authorization: \"Bearer ${env:TOKEN}\"}", Replaces,
		"header fields that are sent with each request to the URL", func(s scope) any {
			return &s.server.Headers
		}},
	{"proxy", proxy, "", "", "http://proxy.example.com:3128", Replaces,
		"proxy to the URL: http, https, socks5 or socks5h, with user and password if the proxy needs " +
			"them, or direct for none. Default: HTTPS_PROXY, HTTP_PROXY and NO_PROXY in mcpd's own " +
			"environment, but never for localhost", func(s scope) any {
			return &s.server.Proxy
		}},
	{"ca", cwd, "", "", "/etc/mcpd/ca.pem", Replaces,
		"file with CA certificates (PEM, at most 1MiB) that are trusted for the URL and for an https " +
			"proxy, in addition to those of the system; read again for each new connection",
		func(s scope) any {
			return &s.server.CA
		}},
	{"transport", oneOf("sse"), "", "", "sse", Replaces,
		"protocol of the URL: sse means HTTP+SSE. Default: Streamable HTTP, and HTTP+SSE if that fails",
		func(s scope) any {
			return &s.server.Transport
		}},
	{"builtin", builtin, "", "", "demo", Replaces,
		"a server inside mcpd", func(s scope) any { return &s.server.Builtin }},
	{"share", share, "auto", "", "tenant", Replaces,
		"callers that share a connection; `mcpd config print` shows what auto means for this server. " +
			"Callers that share a connection trust the server with each other's data. The server sees the " +
			"arguments of all callers. It can answer a pending call of one caller with data of another. " +
			"It can ask the user of one caller something during a call of another, if it need not say " +
			"which call it means. It can put data from one caller into the names, descriptions and " +
			"instructions that all callers see. Requests of 2026-07-28 have no session: with session, the " +
			"requests of one principal share a connection. A server that uses roots, or keeps state for " +
			"its client, needs session. Otherwise sessions of one principal share one process, which has " +
			"the roots of the session that was asked first", func(s scope) any {
			return &s.server.Share
		}},
	{"max_instances", count(1, 64), "4", "", "1", Replaces,
		"maximum number of instances (for a program: of processes) for the callers that share the " +
			"server. Calls wait for each other if the server may ask something and does not say whom. Use " +
			"1 for a program that keeps state between calls: one process then serves all calls, whatever " +
			"their clients declare and whichever era they speak. With more, clients of different kinds " +
			"have different processes as long as another one is allowed",
		func(s scope) any { return &s.server.Instances }},
	{"share_logs", boolean, "false", "", "true", Replaces,
		"callers that share a connection receive its log lines, and their errors contain its last " +
			"standard error, even if these may be about a call of another principal. By default only the " +
			"operator sees such text, and callers get the incident",
		func(s scope) any { return &s.server.ShareLogs }},
	{"allow_server_requests", boolean, "true", "", "false", Replaces,
		"the server may send requests to clients (sampling, elicitation, roots). If it may not, calls " +
			"of several clients never wait for each other",
		func(s scope) any { return (*inverted)(&s.server.DenyRequests) }},
	{"min_version", revision, "", "", "2026-07-28", Replaces,
		"oldest revision to use; 2026-07-28 skips the `initialize` handshake for servers known to be " +
			"modern",
		func(s scope) any { return &s.server.Negotiation.Floor }},
	{"max_version", revision, "", "", "2025-11-25", Replaces,
		"newest revision to use; 2025-11-25 skips the `server/discover` probe for servers known to be " +
			"legacy",
		func(s scope) any { return &s.server.Negotiation.Ceiling }},
	{"intensity.restarts", count(0, 1000), "5", "", "3", Replaces,
		"number of restarts of a connection before it is given up for a while. For a server behind a " +
			"URL also the number of new sessions before there are pauses of up to 1s between them",
		func(s scope) any {
			return &s.server.Intensity.Restarts
		}},
	{"intensity.within", span(time.Millisecond, time.Hour), "30s", "", "1m", Replaces,
		"time window in which these restarts count", func(s scope) any {
			return &s.server.Intensity.Within
		}},
	{"replay", oneOf(tenant.ReplayNever, tenant.ReplayReadOnly, tenant.ReplayIdempotent),
		tenant.ReplayNever, "", tenant.ReplayReadOnly, Replaces,
		"tool calls that are sent once more if the server died on them: those of tools with " +
			"readOnlyHint (read_only), or also those with idempotentHint (idempotent). By default none " +
			"are, and the client is told that the call may have been executed",
		func(s scope) any { return &s.server.Replay }},
	{"start_timeout", span(10*time.Millisecond, 10*time.Minute), "", "limits.start_timeout",
		"90s", Replaces,
		"time limit from the start of the server to the end of its handshake", func(s scope) any {
			return &s.server.StartTimeout
		}},
	{"start", oneOf(tenant.StartOnDemand, tenant.StartEager), tenant.StartOnDemand, "",
		tenant.StartEager, Replaces,
		"on_demand starts the server at its first call, or at the first list if it was never listed; " +
			"eager starts it with mcpd and keeps it running",
		func(s scope) any { return &s.server.Start }},
	{"idle_stop", span(0, 7*24*time.Hour), "", "limits.idle_stop", "10m", Replaces,
		"a program that is not needed for this time is stopped even if sessions use it, or the " +
			"connection to a URL is closed; the next call starts it again. An eager server is not stopped",
		func(s scope) any { return &s.server.IdleStop }},
	{"idle_release", span(0, 7*24*time.Hour), "", "limits.idle_release", "1h", Replaces,
		"time that a session may be without a request or an open stream before it releases this " +
			"server; 0s means never, for a program that keeps state between calls",
		func(s scope) any { return &s.server.IdleRelease }},
	{"require_client_capabilities", needs, "", "", "{tools/call: sampling}", AtOnce,
		"as in the tenant, for this server; takes precedence over the tenant's", func(s scope) any {
			return &s.server.Require
		}},
}

// importKeys are the keys of an entry of mcpServers, as other clients write it.
var importKeys = []Key{
	{"type", oneOf("stdio", "http", "streamable-http", "streamableHttp", "sse"), "", "",
		"http", Replaces,
		"stdio needs a command, the others need a url", func(s scope) any { return s.kind }},
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
func topRules(s scope) *negotiation.Rules          { return &s.config.NegotiationRules }
func ownRules(s scope) *negotiation.Rules          { return &s.tenant.NegotiationRules }

// Keys returns the table, in the order of the documentation.
func Keys() []Key { return table() }

var table = sync.OnceValue(func() []Key {
	keys := append([]Key(nil), hostKeys...)
	keys = append(keys, limitKeys(topLimits)...)
	keys = append(keys, negotiationKeys(topNegotiation)...)
	keys = append(keys, termsKeys(topRules)...)
	keys = append(keys, under("mcpServers.*.", importKeys)...)
	keys = append(keys, under("tenants.*.", tenantKeys)...)
	keys = append(keys, under("tenants.*.", inherited(limitKeys(ownLimits)))...)
	keys = append(keys, under("tenants.*.", inherited(negotiationKeys(ownNegotiation)))...)
	keys = append(keys, under("tenants.*.", inherited(termsKeys(ownRules)))...)
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
