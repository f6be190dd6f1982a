package telemetry

import (
	"time"

	"mcpd/supervisor/otp"
)

// Event is something that happened in the host: one of the structs below. An actor emits it and
// continues. The table in table.go says how it is shown.
//
// The tag key is the name of a field in log lines and in the admin API. The tag is describes the
// field. Empty fields are left out.
type Event interface{ where() Where }

// Sink receives events. It never blocks.
type Sink func(Event)

// Where says what an event is about. Every event embeds it. Fields that do not apply stay empty.
type Where struct {
	Tenant   string
	Server   string // key of the upstream server in the configuration
	Session  string // ID of the downstream session
	Exchange string // ID of the downstream request
	Path     string // of the row in the supervision tree
	// Incident is the ID that callers were told. Later events of the same row belong to the same
	// incident.
	Incident string
	// Routine makes the event a debug line, whatever its kind, because it is expected or reported
	// already.
	Routine bool
}

func (w Where) where() Where { return w }

// Events of tenants as a whole.
type (
	TenantPaused struct {
		Where
		Times uint32        `key:"times" is:"number of times in a row that the tenant ended by itself"`
		Retry time.Duration `key:"retry" is:"time until it is started again"`
		Cause string        `key:"cause" is:"why it ended"`
	}
	TenantQuarantined struct {
		Where
		Times uint32        `key:"times" is:"number of times in a row that the tenant ended by itself"`
		Retry time.Duration `key:"retry" is:"time until it is probed; absent if an operator has quarantined it"`
		Cause string        `key:"cause" is:"why it is quarantined"`
	}
	TenantResumed struct {
		Where
		Probe bool `key:"probe" is:"whether it is quarantined, and started as a probe"`
	}
	TenantReleased  struct{ Where }
	TenantRestarted struct{ Where }
)

// Events of supervision. They correspond to the events of package otp.
type (
	ChildStarted struct {
		Where
		Class       string `key:"class" is:"label of the row, the same for all rows of a pool"`
		Incarnation uint64 `key:"incarnation" is:"instance number, increased at every restart"`
	}
	ChildExited struct {
		Where
		Class       string `key:"class" is:"label of the row"`
		Incarnation uint64 `key:"incarnation" is:"the instance that ended"`
		Reason      string `key:"reason" is:"why it ended"`
	}
	ChildCrashed struct {
		Where
		Class       string           `key:"class" is:"label of the row"`
		Incarnation uint64           `key:"incarnation" is:"the instance that ended"`
		Reason      string           `key:"reason" is:"the error or the panic's value"`
		Injected    string           `key:"fault" is:"id of the armed fault that caused it"`
		Report      *otp.CrashReport `key:"crash" is:"the message's type, the mailbox and the stack; in log lines as message, waiting and stack"`
	}
	ChildPaused struct {
		Where
		Class  string        `key:"class" is:"label of the row"`
		Reason string        `key:"reason" is:"why it ended last"`
		For    time.Duration `key:"retry" is:"time until it is started again"`
	}
	CrashCharged struct {
		Where
		Class  string `key:"class" is:"label of the row that crashed"`
		Times  uint32 `key:"times" is:"number of times in a row that messages of this tenant have crashed the row"`
		Reason string `key:"reason" is:"why it ended"`
	}
	ChildRestarted struct {
		Where
		Class       string        `key:"class" is:"label of the row"`
		Incarnation uint64        `key:"incarnation" is:"the new instance"`
		Restarts    uint32        `key:"restarts" is:"number of restarts of this row"`
		InPlace     bool          `key:"in_place" is:"whether the process and the mailbox are the same"`
		Took        time.Duration `key:"took" is:"time from the end of the old instance to readiness"`
	}
	StartFailed struct {
		Where
		Class  string           `key:"class" is:"label of the row"`
		Reason string           `key:"reason" is:"why it did not become ready"`
		Report *otp.CrashReport `key:"crash" is:"the panic, if the start panicked"`
	}
	IntensityExceeded struct {
		Where
		Child    string        `key:"child" is:"id of the child that ended last"`
		Restarts uint32        `key:"allowed" is:"restarts allowed"`
		Within   time.Duration `key:"within" is:"in this window"`
		Reason   string        `key:"reason" is:"why that child ended"`
	}
	SupervisorStopped struct {
		Where
		Reason string `key:"reason" is:"why it ended"`
	}
	Abandoned struct {
		Where
		Class     string        `key:"class" is:"label of the row"`
		Goroutine string        `key:"goroutine" is:"the goroutine that did not end; empty for the worker itself"`
		Budget    time.Duration `key:"budget" is:"the time it had to stop"`
	}
	ActorStuck struct {
		Where
		Class  string           `key:"class" is:"label of the row"`
		For    time.Duration    `key:"for" is:"how long it has handled one message"`
		Report *otp.CrashReport `key:"crash" is:"the message and where the goroutine is"`
	}
	Overloaded struct {
		Where
		Class   string `key:"class" is:"label of the row"`
		Mailbox uint32 `key:"mailbox" is:"the bound that was reached"`
	}
	StateDropped struct {
		Where
		Class       string `key:"class" is:"label of the row"`
		Incarnation uint64 `key:"incarnation" is:"the instance that did not take over the state, or the last one that tried"`
		Part        string `key:"part" is:"the part that was dropped; all if the instance continues without any state"`
		Reason      string `key:"reason" is:"what is wrong with it"`
		Count       uint32 `key:"count" is:"number of parts that were dropped for this reason"`
	}
	TerminatePanicked struct {
		Where
		Class  string           `key:"class" is:"label of the row"`
		Report *otp.CrashReport `key:"crash" is:"the panic"`
	}
)

// Events of upstreams: the servers that the host is a client of.
type (
	UpstreamStarting struct {
		Where
		Transport   string `key:"transport" is:"stdio, streamable, sse"`
		Target      string `key:"target" is:"command or URL, without credentials"`
		Incarnation uint64 `key:"incarnation" is:"instance number"`
	}
	UpstreamReady struct {
		Where
		PID         int           `key:"pid" is:"id of the child process"`
		Revision    string        `key:"revision" is:"protocol revision agreed"`
		ServerInfo  string        `key:"server_info" is:"name and version the server gave itself"`
		Incarnation uint64        `key:"incarnation" is:"instance number"`
		Start       time.Duration `key:"start" is:"time from spawn or connect to ready"`
		Down        time.Duration `key:"down" is:"time from the loss of the previous connection to ready; 0 at the first start"`
	}
	UpstreamExited struct {
		Where
		PID         int    `key:"pid" is:"id of the child process"`
		Cause       string `key:"cause" is:"class of the end, in one or two words"`
		Class       string `key:"class" is:"permanent if starting it again does not help, else transient"`
		Exit        string `key:"exit" is:"exit code or signal"`
		Incarnation uint64 `key:"incarnation" is:"instance number"`
		InFlight    uint32 `key:"in_flight" is:"requests that were waiting for it"`
		Stderr      string `key:"stderr" is:"the end of its standard error"`
	}
	UpstreamAsleep struct {
		Where
		PID  int           `key:"pid" is:"id of the child process"`
		Idle time.Duration `key:"idle" is:"the time after which an unneeded server is stopped"`
	}
	UpstreamClosed struct {
		Where
		Cause string `key:"cause" is:"idle_release, unused or idle_instance"`
	}
	UpstreamStartFailed struct {
		Where
		Cause  string `key:"cause" is:"class of the end, in one or two words"`
		Class  string `key:"class" is:"permanent if starting it again does not help, else transient"`
		Reason string `key:"reason" is:"the error"`
		Stderr string `key:"stderr" is:"the end of its standard error"`
		Starts uint32 `key:"starts" is:"number of failed starts since it was ready; for each cause, one is reported a minute"`
	}
	UpstreamCrashLoop struct {
		Where
		Restarts uint32        `key:"allowed" is:"restarts allowed"`
		Within   time.Duration `key:"within" is:"in this window"`
		Retry    time.Duration `key:"retry" is:"time until it is tried again"`
		Class    string        `key:"class" is:"permanent if starting it again does not help, else transient"`
		Cause    string        `key:"cause" is:"why it ended last"`
		Starts   uint32        `key:"starts" is:"number of failed starts in this incident"`
	}
	UpstreamStateChanged struct {
		Where
		From  string `key:"from" is:"state left"`
		To    string `key:"to" is:"state entered"`
		Class string `key:"class" is:"permanent if starting it again does not help, else transient"`
		Cause string `key:"cause" is:"why it is not ready"`
	}
	UpstreamQuarantined struct {
		Where
		Connection string        `key:"connection" is:"the connection that was given up too often; empty if the whole server is quarantined"`
		Retry      time.Duration `key:"retry" is:"time until the first probe; 0 if an operator has to release it"`
		Class      string        `key:"class" is:"permanent if starting it again does not help, else transient"`
		Cause      string        `key:"cause" is:"why it ended last"`
		Stderr     string        `key:"stderr" is:"the end of its standard error"`
	}
	UpstreamReleased struct {
		Where
		By string `key:"by" is:"probe, reload or operator"`
	}
	UpstreamRestarted struct {
		Where
		Connections uint32 `key:"connections" is:"number of connections that were ended and are started again"`
	}
	UpstreamNoise struct {
		Where
		Lines  uint32 `key:"lines" is:"lines that were not JSON-RPC since the last report"`
		Sample string `key:"sample" is:"the beginning of the last one"`
	}
	UpstreamPaced struct {
		Where
		For time.Duration `key:"for" is:"how long it waited for the host to continue reading, since the last report"`
	}
	CallsWait struct {
		Where
		Method string        `key:"method" is:"method of the first of these calls"`
		Cause  string        `key:"cause" is:"who is asked what, and for how long already"`
		For    time.Duration `key:"for" is:"how long the calls wait at most"`
		Count  uint32        `key:"count" is:"number of calls that wait"`
	}
	QuestionGivenUp struct {
		Where
		Method string        `key:"method" is:"what the server asked"`
		Cause  string        `key:"cause" is:"why nobody answers"`
		After  time.Duration `key:"after" is:"how long it was open"`
	}
	UpstreamStderr struct {
		Where
		Lines  uint32 `key:"lines" is:"lines since the last report"`
		Sample string `key:"sample" is:"the beginning of the last one"`
	}
	ConfigDoubted struct {
		Where
		Reason string `key:"reason" is:"where the mistake may be, what it is, why, and what to do"`
	}
	UpstreamUnlimited struct {
		Where
		Reason string `key:"reason" is:"what the machine lacks"`
	}
	ToolsInvalid struct {
		Where
		Count  uint32 `key:"tools" is:"number of tools"`
		First  string `key:"first" is:"the name of one"`
		Reason string `key:"reason" is:"what is wrong with it"`
	}
	ListCut struct {
		Where
		List   string `key:"list" is:"the list; initialize for the server's description of itself"`
		Reason string `key:"reason" is:"what exceeds its limit: description (the rest of it is cut off), schema or item_bytes (the item is left out), items (the items after the limit are left out), pages or bytes (no further page is requested), loop (a cursor leads back to an earlier page), instructions (the rest is cut off), capabilities (all but the standard ones are left out)"`
		Count  uint32 `key:"items" is:"number of items concerned, as far as they have been seen"`
		First  string `key:"first" is:"the name of one"`
	}
	ItemsOdd struct {
		Where
		List   string `key:"list" is:"the list"`
		Action string `key:"action" is:"repaired (members that are null are removed, members that every schema requires are supplied) or left_out"`
		Count  uint32 `key:"items" is:"number of items"`
		First  string `key:"first" is:"the name of one"`
		Reason string `key:"reason" is:"what is wrong with the first item that is left out"`
	}
	OrphansEnded struct {
		Where
		Left  string `key:"left_by" is:"who left them: an earlier mcpd on the same state directory, or a server outside of its process group"`
		Count uint32 `key:"processes" is:"number of processes"`
	}
	OrphansSurvived struct {
		Where
		Count uint32 `key:"processes" is:"number of processes"`
	}
	GuardLost struct {
		Where
		Reason string `key:"reason" is:"how it ended, or why it could not be started"`
	}
)

// Events of sessions and requests.
type (
	SessionOpened struct {
		Where
		Transport string `key:"transport" is:"stdio, streamable, sse"`
		Principal string `key:"principal" is:"the principal that the credential stands for"`
		Client    string `key:"client" is:"name and version the client gave itself"`
		Revision  string `key:"revision" is:"protocol revision agreed"`
		Durable   bool   `key:"durable" is:"whether the client can resume the session after the host was killed"`
		// The fields below describe the initialize request (S0-48).
		RequestID    string `key:"request_id" is:"id of the initialize request"`
		Requested    string `key:"client_protocol_version" is:"the revision the client asked for"`
		Capabilities string `key:"client_capabilities" is:"what servers may ask of the client"`
	}
	SessionClosed struct {
		Where
		Cause Closing       `key:"cause"`
		Age   time.Duration `key:"age" is:"time since it was opened"`
	}
	ProtocolNegotiation struct {
		Where
		Side       string `key:"side" is:"downstream or upstream"`
		Client     string `key:"client_version" is:"the revision the client asked for"`
		Negotiated string `key:"negotiated_version" is:"the revision agreed; empty when it was refused"`
		SessionID  string `key:"session_id" is:"the session again, under the name that log queries use"`
	}
	VersionLowered struct {
		Where
		Client     string `key:"client_version" is:"the revision the client asked for"`
		Negotiated string `key:"negotiated_version" is:"the older revision agreed"`
		Off        string `key:"off" is:"features that are off because of it"`
	}
	PhaseChanged struct {
		Where
		Side string `key:"side" is:"downstream or upstream"`
		From string `key:"from" is:"phase left"`
		To   string `key:"to" is:"phase entered"`
	}
	Rejected struct {
		Where
		Reason  string `key:"reason" is:"reason code, as in the error's data.reason"`
		Method  string `key:"method" is:"the requested method"`
		Name    string `key:"name" is:"name of the requested tool, prompt or resource, as the client wrote it"`
		Address string `key:"address" is:"address of the client, as trusted proxies report it; stdio for the client of mcpd stdio that is its own host"`
		// URLPath is set for a request over HTTP.
		URLPath string `key:"url_path" is:"path of the request, without its query"`
	}
	RequestPanicked struct {
		Where
		Method  string           `key:"method" is:"the requested method"`
		Address string           `key:"address" is:"address of the client, as trusted proxies report it"`
		URLPath string           `key:"url_path" is:"path of the request, without its query"`
		Reason  string           `key:"reason" is:"the panic's value"`
		Report  *otp.CrashReport `key:"crash" is:"the panic"`
	}
	NotificationDropped struct {
		Where
		Method string `key:"method" is:"the last of the notifications that this event stands for; stderr means the end of a program's standard error that a caller was not told"`
		Reason string `key:"reason" is:"queue_full, undeclared, unowned, unreachable, invalid, too_fast, unsubscribed, slow_consumer, poisonous"`
		Count  uint32 `key:"count" is:"how many this event stands for: the first of a server and a reason is reported at once, later ones at most once a second"`
	}
	ReplyDropped struct {
		Where
		Method string        `key:"method" is:"method of the last of the requests that this event stands for, if known"`
		Reason string        `key:"reason" is:"late, duplicate, unknown, queue_full, refused"`
		After  time.Duration `key:"after" is:"time from that request to the reply, if known"`
		Count  uint32        `key:"count" is:"how many this event stands for: the first of a server and a reason is reported at once, later ones at most once a second"`
	}
)

// Events of the host itself.
type (
	ListenerUp struct {
		Where
		Name string `key:"name" is:"mcp or admin"`
		Addr string `key:"addr" is:"the address that it is bound to"`
	}
	CertificateRenewed struct {
		Where
		File string        `key:"file" is:"file of the certificate"`
		Left time.Duration `key:"left" is:"time until it expires"`
	}
	CertificateDoubted struct {
		Where
		File   string `key:"file" is:"file of the certificate"`
		Reason string `key:"reason" is:"why clients refuse it, or why it was not renewed"`
	}
	ConfigLoaded struct {
		Where
		Source     string `key:"source" is:"the file, or why there is none"`
		Generation uint32 `key:"generation" is:"number that increases whenever another configuration takes effect, also across restarts"`
		Changes    string `key:"changes" is:"what a reload changed"`
		At         uint64 `key:"at" is:"time in seconds since 1970"`
	}
	ConfigRejected struct {
		Where
		Source     string `key:"source" is:"the file"`
		Generation uint32 `key:"generation" is:"the generation that stays in effect"`
		Reason     string `key:"reason" is:"what is wrong with it, and where"`
	}
	RestartRefused struct {
		Where
		Reason string `key:"reason" is:"why the program cannot be started"`
	}
	Draining struct {
		Where
		Reason string        `key:"reason" is:"the signal or the request"`
		Budget time.Duration `key:"budget" is:"the time that requests have to finish"`
	}
	SafeMode struct {
		Where
		Reason string `key:"reason" is:"why, and what to do"`
	}
	StateLost struct {
		Where
		Reason string `key:"reason" is:"what could not be read or was cut off, and what its file is called now"`
	}
	RecordDropped struct {
		Where
		Kind   string `key:"kind" is:"session, event, task or configuration"`
		Reason string `key:"reason" is:"why it cannot be used"`
		Count  uint32 `key:"count" is:"number of records, if one line stands for several"`
	}
	RecordSetAside struct {
		Where
		Kind   string           `key:"kind" is:"session, events, task, tenant, list or quarantine"`
		Name   string           `key:"name" is:"which record; for a session and its events the row in the tree"`
		Reason string           `key:"reason" is:"the panic's value"`
		Report *otp.CrashReport `key:"crash" is:"the panic"`
	}
	StateNotWritten struct {
		Where
		Reason string `key:"reason" is:"the error"`
	}
	StateWritten struct {
		Where
	}
	MemoryLevel struct {
		Where
		Level string `key:"memory" is:"normal, elevated, high, critical, exhausted"`
		Last  string `key:"last" is:"the previous level"`
		Step  uint32 `key:"step" is:"0 for normal, up to 4"`
		Use   uint64 `key:"use" is:"bytes in use"`
		Limit uint64 `key:"limit" is:"bytes that may be used"`
		Most  string `key:"most" is:"the tenant that keeps the most, how much, and of what kind; empty if none keeps anything"`
	}
	TenantRefused struct {
		Where
		Kept  uint64 `key:"kept" is:"bytes that the tenant keeps"`
		Limit uint64 `key:"limit" is:"bytes that it may keep"`
		Kinds string `key:"kinds" is:"how much of each kind, largest first"`
		Count uint64 `key:"count" is:"number of requests refused since the last report"`
	}
	FaultArmed struct {
		Where
		Fault  string        `key:"fault" is:"id of the fault"`
		Action string        `key:"action" is:"what it does"`
		Target string        `key:"target" is:"where: the path of actors, or a place and its owner"`
		Lease  time.Duration `key:"lease" is:"time until it heals by itself"`
		Run    string        `key:"run" is:"who armed it"`
	}
	FaultRenewed struct {
		Where
		Fault string        `key:"fault" is:"id of the fault"`
		Lease time.Duration `key:"lease" is:"time until it heals by itself, from now"`
	}
	FaultDisarmed struct {
		Where
		Fault string `key:"fault" is:"id of the fault"`
		Cause string `key:"cause" is:"disarmed, used up, expired"`
		Hits  uint32 `key:"hits" is:"how often it has struck"`
	}
	FaultHit struct {
		Where
		Fault  string `key:"fault" is:"id of the fault"`
		Action string `key:"action" is:"what it did"`
	}
	EventsDropped struct {
		Where
		Count uint32 `key:"count" is:"events that found the queue full since the last report"`
	}
)
