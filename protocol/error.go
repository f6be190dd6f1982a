package protocol

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
)

// Error is an expected failure: a condition with its particulars. It is made by the constructors below and told to a peer by Translate.
type Error struct {
	Condition  Condition
	Message    string         // for the peer to read; holds no secrets of the host
	Data       jsontext.Value // an object of what else the peer is told; empty for nothing
	RetryAfter time.Duration  // when to try again; 0 for not said
	Cause      error          // for the host's own log, never for the peer
}

// Error is the message, and the cause if there is one.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Message + ": " + e.Cause.Error()
	}
	return e.Message
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is makes errors.Is(err, ConditionTimeout) work.
func (e *Error) Is(target error) bool {
	c, ok := target.(Condition)
	return ok && c == e.Condition
}

// InvalidRequest refuses a message that is JSON-RPC but makes no sense here.
func InvalidRequest(detail string) *Error {
	return &Error{Condition: ConditionInvalidRequest, Message: detail}
}

// MethodNotFound refuses a method that the revision lacks or that this side may not send.
func MethodNotFound(method string) *Error {
	return &Error{Condition: ConditionMethodNotFound, Message: "method " + shown(method) + " not found", Data: data("method", cut(method))}
}

// InvalidParams refuses params; detail names the member and what is wrong with it.
func InvalidParams(detail string) *Error {
	return &Error{Condition: ConditionInvalidParams, Message: detail}
}

// InternalError hides a failure of the host from the peer, which learns only that there was one.
func InternalError(cause error) *Error {
	return &Error{Condition: ConditionInternal, Message: "internal error", Cause: cause}
}

// NotInitialized refuses what came before the handshake: action is what was asked for, as "list resources" (S0-31, S4-83).
func NotInitialized(phase, action string) *Error {
	return &Error{Condition: ConditionNotInitialized, Message: "Cannot " + action + " before server initialization", Data: data("currentPhase", phase)}
}

// AlreadyInitialized refuses a second initialize (S0-32).
func AlreadyInitialized() *Error {
	return &Error{Condition: ConditionAlreadyInitialized, Message: "Server already initialized. Initialize must be called only once."}
}

// ResourceNotFound says that no server has the resource.
func ResourceNotFound(uri string) *Error {
	return &Error{Condition: ConditionResourceNotFound, Message: "resource " + shown(uri) + " not found", Data: data("uri", uri)}
}

// NotAnnounced says that a server agreed to no subscription to the resource.
func NotAnnounced(uri string) *Error {
	return &Error{Condition: ConditionInvalidParams, Message: "changes of this resource are not announced", Data: data("uri", uri)}
}

// ToolNotFound says that no server has the tool.
func ToolNotFound(name string) *Error {
	return &Error{Condition: ConditionToolNotFound, Message: "tool " + shown(name) + " not found", Data: data("tool", cut(name))}
}

// PromptNotFound says that no server has the prompt.
func PromptNotFound(name string) *Error {
	return &Error{Condition: ConditionPromptNotFound, Message: "prompt " + shown(name) + " not found", Data: data("prompt", cut(name))}
}

// CapabilityNotSupported refuses what the receiver never advertised, as "resources.subscribe".
func CapabilityNotSupported(capability string) *Error {
	return &Error{
		Condition: ConditionCapabilityNotSupported,
		Message:   "capability " + shown(capability) + " is not supported",
		Data:      data("capability", capability),
	}
}

// CapabilityRequired refuses what needs a capability that the client did not declare, as "elicitation.url". The path is told in the two
// ways that revisions read it.
func CapabilityRequired(capability string) *Error {
	d := data("capability", capability)
	d = append(d[:len(d)-1], `,"requiredCapabilities":`...)
	d = append(d, ClientCapabilities{}.With(capability, jsontext.Value("{}")).Raw()...)
	return &Error{
		Condition: ConditionCapabilityRequired,
		Message:   "Client does not support required capability: " + capability,
		Data:      append(d, '}'),
	}
}

// UnsupportedVersion refuses a revision and names those that would do; none named means all that exist.
func UnsupportedVersion(requested string, supported ...Version) *Error {
	return unsupported("protocol version "+shown(requested)+" is not supported", requested, supported)
}

// unsupported says it in both spellings: supported and requested are the specification's, the other two those of S4-84.
func unsupported(message, requested string, supported []Version) *Error {
	if len(supported) == 0 {
		supported = Versions()
	}
	list := []byte{'['}
	for i := len(supported) - 1; i >= 0; i-- {
		list = strconv.AppendQuote(list, supported[i].String())
		if i > 0 {
			list = append(list, ',')
		}
	}
	list = append(list, ']')
	d := data("requested", cut(requested), "requestedVersion", cut(requested))
	d = append(d[:len(d)-1], `,"supported":`...)
	d = append(d, list...)
	d = append(d, `,"supportedVersions":`...)
	d = append(d, list...)
	return &Error{Condition: ConditionUnsupportedVersion, Message: message, Data: append(d, '}')}
}

// HeaderMismatch refuses a request whose HTTP header is missing, malformed or says other than its body.
func HeaderMismatch(header, detail string) *Error {
	return &Error{Condition: ConditionHeaderMismatch, Message: "header " + header + ": " + detail, Data: data("header", header)}
}

// Timeout says that no answer came in time.
func Timeout(after time.Duration) *Error {
	return &Error{Condition: ConditionTimeout, Message: "no answer within " + after.String()}
}

// RateLimited asks the peer to slow down.
func RateLimited(retryAfter time.Duration) *Error {
	return &Error{Condition: ConditionRateLimited, Message: "too many requests", RetryAfter: retryAfter}
}

// Overloaded says that what, as "tenant acme" or "server files", can take no more now.
func Overloaded(what string, retryAfter time.Duration) *Error {
	return &Error{Condition: ConditionOverloaded, Message: what + " is overloaded", RetryAfter: retryAfter}
}

// Full refuses what would exceed a bound: 503, or 429 where the bound is the caller's own. Detail says
// what is full and whose it is; the same is told in data, by the bound's name and its owners' names.
func Full(own bool, bound, tenant, principal, detail string, retryAfter time.Duration) *Error {
	e := &Error{Condition: ConditionOverloaded, Message: detail, RetryAfter: retryAfter}
	pairs := []string{"limit", bound, "tenant", cut(tenant)}
	if own {
		e.Condition = ConditionRateLimited
		pairs = append(pairs, "principal", cut(principal))
	}
	e.Data = data(pairs...)
	return e
}

// Unready says that what, as "the session", cannot take a message for the moment: it is being started.
func Unready(what string, retryAfter time.Duration) *Error {
	return &Error{Condition: ConditionOverloaded, Message: what + " is being started", RetryAfter: retryAfter}
}

// TenantDown refuses what is asked of a tenant that does not run. State says how it stands, and
// incident is what the log calls the reason.
func TenantDown(tenant, state, incident string, retryAfter time.Duration) *Error {
	e := &Error{Condition: ConditionOverloaded, Message: "tenant " + tenant + " is " + state, RetryAfter: retryAfter}
	if incident != "" {
		e.Data = data("incident", incident)
	}
	return e
}

// TooLarge refuses what, as "request body", for exceeding its bound in bytes.
func TooLarge(what string, limit int) *Error {
	return &Error{Condition: ConditionTooLarge, Message: what + " exceeds " + strconv.Itoa(limit) + " bytes"}
}

// UpstreamLost says that the server went away during the request. MaybeExecuted tells whether it may have acted on it, in which case
// repeating it is the caller's decision.
func UpstreamLost(server string, maybeExecuted bool, cause error) *Error {
	message := "server " + shown(server) + " was lost before it received the request"
	if maybeExecuted {
		message = "server " + shown(server) + " was lost; it may have executed the request"
	}
	return &Error{Condition: ConditionUpstreamLost, Message: message, Data: unfinished(server, maybeExecuted), Cause: cause}
}

// UpstreamQuarantined says that the server is not used, until an operator releases it or a probe finds
// that it works again. MaybeExecuted is as for UpstreamLost: the request may have been there when it was put away.
func UpstreamQuarantined(server string, maybeExecuted bool, cause error) *Error {
	e := &Error{
		Condition: ConditionUpstreamQuarantined, Message: "server " + shown(server) + " is quarantined",
		Data: unfinished(server, maybeExecuted), Cause: cause,
	}
	if maybeExecuted {
		e.Message += "; it may have executed the request"
	}
	return e
}

// UpstreamRemoved says that a reload has removed the server from the configuration. Repeating the
// request does not help, whatever it is. MaybeExecuted is as for UpstreamLost.
func UpstreamRemoved(server string, maybeExecuted bool, cause error) *Error {
	e := &Error{
		Condition: ConditionUpstreamRemoved,
		Message:   "server " + shown(server) + " was removed from the configuration",
		Data:      unfinished(server, maybeExecuted), Cause: cause,
	}
	e.Data, _ = splice.Set(e.Data, jsontext.Value("false"), "retryable") // e.Data is an object
	if maybeExecuted {
		e.Message += "; it may have executed the request"
	}
	return e
}

// Stopping says that the host goes down before the server has answered, empty for a request that no server was chosen for. MaybeExecuted is
// as for UpstreamLost.
func Stopping(server string, maybeExecuted bool) *Error {
	message := "the host is stopping; server " + shown(server) + " did not receive the request"
	switch {
	case server == "":
		message = "the host is stopping; no server received the request"
	case maybeExecuted:
		message = "the host is stopping; server " + shown(server) + " may have executed the request"
	}
	return &Error{Condition: ConditionStopping, Message: message, Data: unfinished(server, maybeExecuted)}
}

// Restarted says that the host was killed during the request, and another that knows no more has taken its place.
func Restarted() *Error {
	return &Error{
		Condition: ConditionUpstreamLost, Message: "the host was restarted during the request; a server may have executed it",
		Data: jsontext.Value(`{"maybeExecuted":true,"retryable":false}`),
	}
}

// Forgotten says that the host itself lost track of a request in a crash.
func Forgotten(server string, cause error) *Error {
	return &Error{
		Condition: ConditionInternal, Message: "the host lost track of this in a crash; server " + shown(server) + " may have executed it",
		Data: unfinished(server, true), Cause: cause,
	}
}

// Unanswered is the error of a request to a server that ended without it, as for its deadline. MaybeExecuted is as for UpstreamLost.
func (e *Error) Unanswered(server string, maybeExecuted bool) *Error {
	about := *e
	about.Data = union(unfinished(server, maybeExecuted), e.Data)
	return &about
}

// Because adds to an error what is known of its cause.
func (e *Error) Because(why *Error) *Error {
	about := *e
	about.Message += why.Message
	about.Data = union(e.Data, why.Data)
	return &about
}

// Cut is the error of a request that ended because of e, as TenantDown. Server is empty for a request
// that no server was chosen for; maybeExecuted is as for UpstreamLost.
func (e *Error) Cut(server string, maybeExecuted bool) *Error {
	about := e.Unanswered(server, maybeExecuted)
	switch {
	case maybeExecuted && server == "":
		about.Message += "; a server may have executed the request"
	case maybeExecuted:
		about.Message += "; server " + shown(server) + " may have executed the request"
	case server == "":
		about.Message += "; no server received the request"
	default:
		about.Message += "; server " + shown(server) + " did not receive the request"
	}
	return about
}

// reading are the requests that change nothing at a server. tools/call is not among them, whatever the tool says of itself.
var reading = map[string]bool{
	"tools/list": true, "prompts/list": true, "resources/list": true, "resources/templates/list": true,
	"resources/read": true, "prompts/get": true, "completion/complete": true,
}

// OnlyReads reports whether a request of that method changes nothing at a server, so that to repeat it is safe.
func OnlyReads(method string) bool { return reading[method] }

// Repeating completes the error of a request of that method which has no answer: it is retryable, even if it was executed, where it only reads.
func (e *Error) Repeating(method string) *Error {
	if OnlyReads(method) {
		e.Data = jsontext.Value(bytes.Replace(e.Data, []byte(`"retryable":false`), []byte(`"retryable":true`), 1))
	}
	return e
}

// unfinished is the data of a request that has no answer. Retryable says that to repeat it is safe.
func unfinished(server string, maybeExecuted bool) jsontext.Value {
	d := jsontext.Value(`{"maybeExecuted":`)
	if server != "" { // it is known which was meant
		d = data("server", server)
		d = append(d[:len(d)-1], `,"maybeExecuted":`...)
	}
	d = strconv.AppendBool(d, maybeExecuted)
	d = append(d, `,"retryable":`...)
	d = strconv.AppendBool(d, !maybeExecuted)
	return append(d, '}')
}

// UpstreamUnavailable says that the server did not take the request, and may later: after retryAfter, if it has said so.
func UpstreamUnavailable(server string, retryAfter time.Duration, cause error) *Error {
	return &Error{
		Condition: ConditionUpstreamUnavailable, Message: "server " + shown(server) + " refused the request for now",
		Data: unfinished(server, false), RetryAfter: retryAfter, Cause: cause,
	}
}

// UpstreamInvalid says that the server answered with something that its revision's schema does not allow. It may have executed the request,
// and would answer a second time as it did.
func UpstreamInvalid(server string, cause error) *Error {
	return &Error{
		Condition: ConditionUpstreamInvalid,
		Message:   "server " + shown(server) + " sent an invalid answer",
		Data:      unfinished(server, true),
		Cause:     cause,
	}
}

// QueueFull says that what, as "notification queue", holds as much as it may.
func QueueFull(what string) *Error {
	return &Error{Condition: ConditionQueueFull, Message: what + " is full"}
}

// RequestIDConflict refuses a request whose id is that of one still in flight on the same shared channel.
func RequestIDConflict(id jsonrpc.ID) *Error {
	return &Error{Condition: ConditionRequestIDConflict, Message: "request id " + id.String() + " is in flight already"}
}

// StateInvalid refuses a handle that the peer was given earlier: what is "requestState", "cursor", "task".
func StateInvalid(what string) *Error {
	return &Error{Condition: ConditionStateInvalid, Message: what + " is invalid or expired", Data: data("state", what)}
}

// StateOutlived refuses a requestState that an earlier host sealed: the call of server that waited for the retry has ended with that.
func StateOutlived(server string) *Error {
	return &Error{
		Condition: ConditionStateInvalid,
		Message:   "the host was restarted since it gave this requestState; server " + shown(server) + " may have executed the call",
		Data:      unfinished(server, true),
	}
}

// SessionGone refuses a session that ended, or never was, or is not the caller's: the three are not told apart.
func SessionGone() *Error {
	return &Error{Condition: ConditionSessionGone, Message: "session not found"}
}

// howToSendKey is what a caller without a key has to know.
const howToSendKey = "send it as \"Authorization: Bearer KEY\" or as \"X-API-Key: KEY\""

// Unauthenticated refuses a caller without a valid key for the tenant, or for a tenant that does not
// exist: the two are not told apart.
func Unauthenticated() *Error {
	return &Error{
		Condition: ConditionUnauthenticated,
		Message:   "authentication required: this host wants a key; " + howToSendKey,
	}
}

// Forbidden refuses a caller who is known but may not do this.
func Forbidden(detail string) *Error {
	return &Error{Condition: ConditionForbidden, Message: detail}
}

// EndpointNotFound says that the tenant has no such server.
func EndpointNotFound() *Error {
	return &Error{Condition: ConditionEndpointNotFound, Message: "no such server"}
}

// EndpointRemoved says that the tenant has no such server any more.
func EndpointRemoved(server string) *Error {
	e := UpstreamRemoved(server, false, nil)
	e.Condition = ConditionEndpointNotFound
	return e
}

// shownServers is how many servers are named to a caller that asks for one that is not there.
const shownServers = 20

// ServerNotFound is EndpointNotFound for a caller that may know which servers its tenant has.
func ServerNotFound(name string, there []string) *Error {
	if len(there) == 0 {
		return &Error{Condition: ConditionEndpointNotFound, Message: fmt.Sprintf("there is no server %s: the tenant has none", name)}
	}
	shown := strings.Join(there[:min(len(there), shownServers)], ", ")
	if more := len(there) - shownServers; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return &Error{Condition: ConditionEndpointNotFound, Message: fmt.Sprintf("there is no server %s: the tenant has %s", name, shown)}
}

// NoOAuth answers a client that looks for an authorization server.
func NoOAuth() *Error {
	return &Error{
		Condition: ConditionEndpointNotFound,
		Message:   "there is no OAuth here: where a tenant has keys, its operator gives you one; " + howToSendKey,
	}
}

// URLElicitationRequired passes on that the user must visit the given pages first. Elicitations is the array as the server sent it.
func URLElicitationRequired(message string, elicitations jsontext.Value) *Error {
	d := append(jsontext.Value(`{"elicitations":`), elicitations...)
	return &Error{Condition: ConditionURLElicitationRequired, Message: message, Data: append(d, '}')}
}

// UserRejected says that the user refused a sampling request.
func UserRejected() *Error {
	return &Error{Condition: ConditionUserRejected, Message: "user rejected the request"}
}

// data is the object of the given names and strings, in their order. The names need no escapes.
func data(pairs ...string) jsontext.Value {
	room := 2
	for _, text := range pairs {
		room += len(text) + len(`"",`)
	}
	d := append(make(jsontext.Value, 0, room), '{')
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			d = append(d, ',')
		}
		d = append(d, '"')
		d = append(d, pairs[i]...)
		d = append(d, '"', ':')
		d, _ = jsontext.AppendQuote(d, pairs[i+1]) // the error only reports bytes that became U+FFFD
	}
	return append(d, '}')
}

// cut bounds text that a peer sent and gets back.
func cut(text string) string {
	if len(text) <= MaxDetail {
		return text
	}
	n := MaxDetail
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// shown is such text within a message.
func shown(text string) string { return strconv.Quote(cut(text)) }
