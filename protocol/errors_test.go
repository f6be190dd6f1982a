package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// S4-113, S4-79 to S4-84, C17: every condition in both eras, by its constructor. The rows are a
// transcript of the table in the requirements.
func TestErrorTranslation(t *testing.T) {
	cause := errors.New("dial tcp 10.0.0.7: refused")
	for _, tc := range []struct {
		err            *protocol.Error
		word           string
		legacy, modern int64
		http           int    // modern, or without a session
		session        int    // in a legacy session
		data           string // without the reason
	}{
		{protocol.InternalError(cause), "internal", -32603, -32603, 200, 200, ``},
		{protocol.InvalidRequest("no"), "invalid_request", -32600, -32600, 400, 400, ``},
		{protocol.MethodNotFound("x/y"), "method_not_found", -32601, -32601, 404, 200, `,"method":"x/y"`},
		{protocol.InvalidParams("no"), "invalid_params", -32602, -32602, 400, 200, ``},
		{protocol.NotInitialized("initialization", "list tools"), "not_initialized", -32005, -32600, 400,
			400, `,"currentPhase":"initialization"`},
		{protocol.AlreadyInitialized(), "already_initialized", -32005, -32600, 400, 400, ``},
		{protocol.ResourceNotFound("file:///x"), "resource_not_found", -32002, -32602, 200, 200,
			`,"uri":"file:///x"`},
		{protocol.ToolNotFound("add"), "tool_not_found", -32602, -32602, 200, 200, `,"tool":"add"`},
		{protocol.PromptNotFound("p"), "prompt_not_found", -32602, -32602, 200, 200, `,"prompt":"p"`},
		{protocol.CapabilityNotSupported("prompts"), "capability_not_supported", -32601, -32601, 404, 200,
			`,"capability":"prompts"`},
		{
			protocol.CapabilityRequired("elicitation.url"), "capability_required", -32004, -32021, 400, 200,
			`,"capability":"elicitation.url","requiredCapabilities":{"elicitation":{"url":{}}}`,
		},
		{
			protocol.CapabilityRequired("extensions." + protocol.ExtensionTasks), "capability_required",
			-32004, -32021, 400, 200,
			`,"capability":"extensions.io.modelcontextprotocol/tasks","requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}`,
		},
		{
			protocol.UnsupportedVersion("1.0", protocol.V20260728), "unsupported_version", -32602, -32022,
			400, 400,
			`,"requested":"1.0","requestedVersion":"1.0","supported":["2026-07-28"],"supportedVersions":["2026-07-28"]`,
		},
		{protocol.HeaderMismatch("Mcp-Name", "missing"), "header_mismatch", -32600, -32020, 400, 400,
			`,"header":"Mcp-Name"`},
		{protocol.Timeout(5 * time.Second), "timeout", -32009, -32603, 200, 200, ``},
		{protocol.RateLimited(time.Second), "rate_limited", -32010, -32603, 429, 429,
			`,"retryAfterMs":1000`},
		{protocol.Overloaded("tenant acme", time.Second), "overloaded", -32010, -32603, 503, 503,
			`,"retryAfterMs":1000`},
		{protocol.TooLarge("request body", 10), "too_large", -32012, -32600, 413, 413, ``},
		{protocol.UpstreamLost("files", true, cause), "upstream_lost", -32008, -32603, 200, 200,
			`,"server":"files","maybeExecuted":true,"retryable":false`},
		{protocol.UpstreamLost("files", false, cause), "upstream_lost", -32008, -32603, 200, 200,
			`,"server":"files","maybeExecuted":false,"retryable":true`},
		{protocol.UpstreamInvalid("files", cause), "upstream_invalid", -32603, -32603, 200, 200,
			`,"server":"files","maybeExecuted":true,"retryable":false`},
		{
			protocol.UpstreamUnavailable("files", 7*time.Second, cause), "upstream_unavailable", -32010,
			-32603, 503, 200,
			`,"retryAfterMs":7000,"server":"files","maybeExecuted":false,"retryable":true`,
		},
		{protocol.QueueFull("notification queue"), "queue_full", -32095, -32603, 200, 200, ``},
		{protocol.RequestIDConflict(jsonrpc.IntID(1)), "request_id_conflict", -32068, -32600,
			400, 200, ``},
		{protocol.StateInvalid("cursor"), "state_invalid", -32602, -32602, 200, 200, `,"state":"cursor"`},
		{protocol.StateOutlived("files"), "state_invalid", -32602, -32602, 200, 200,
			`,"server":"files","maybeExecuted":true,"retryable":false`},
		{protocol.SessionGone(), "session_gone", -32602, -32602, 404, 404, ``},
		{protocol.Unauthenticated(), "unauthenticated", -32600, -32600, 401, 401, ``},
		{protocol.Forbidden("scope"), "forbidden", -32600, -32600, 403, 403, ``},
		{protocol.EndpointNotFound(), "endpoint_not_found", -32600, -32600, 404, 404, ``},
		{
			protocol.URLElicitationRequired("visit", jsontext.Value(`[{"mode":"url"}]`)),
			"url_elicitation_required", -32042, -32603, 200, 200,
			`,"elicitations":[{"mode":"url"}]`,
		},
		{protocol.UserRejected(), "user_rejected", -1, -32603, 200, 200, ``},
		{&protocol.Error{Condition: protocol.ConditionParse}, "parse", -32700, -32700, 400, 400, ``},
		{&protocol.Error{Condition: protocol.ConditionLimits}, "limits", -32600, -32600, 400, 400, ``},
	} {
		t.Run(tc.word, func(t *testing.T) {
			legacy, modern := protocol.Translate(tc.err, protocol.V20251125), protocol.Translate(tc.err,
				protocol.V20260728)
			if legacy.Code != tc.legacy || modern.Code != tc.modern {
				t.Errorf("got %d and %d, want %d and %d", legacy.Code, modern.Code, tc.legacy, tc.modern)
			}
			if want := `{"reason":"` + tc.word + `"` + tc.data + `}`; string(legacy.Data) != want ||
				string(modern.Data) != want || !legacy.Data.IsValid() {
				t.Errorf("got  %s\nwant %s", legacy.Data, want)
			}
			if got := protocol.HTTPStatus(tc.err, protocol.V20260728, false); got != tc.http {
				t.Errorf("modern: got %d, want %d", got, tc.http)
			}
			if got := protocol.HTTPStatus(tc.err, 0, false); got != tc.http {
				t.Errorf("before a session: got %d, want %d", got, tc.http)
			}
			if got := protocol.HTTPStatus(tc.err, protocol.V20250618, true); got != tc.session {
				t.Errorf("within a session: got %d, want %d", got, tc.session)
			}
			if strings.Contains(legacy.Message+string(legacy.Data), "10.0.0.7") {
				t.Error("the peer is told the host's own cause")
			}
			if legacy.Message != tc.err.Message || !strings.HasPrefix(tc.err.Error(), tc.err.Message) {
				t.Errorf("got %q", legacy.Message)
			}
			if !errors.Is(tc.err, tc.err.Condition) || errors.Is(tc.err, protocol.Condition(200)) ||
				tc.err.Condition.Error() != tc.word {
				t.Error("the condition is not found by errors.Is")
			}
		})
	}
}

// 2026-07-28 reserves -32020 to -32099. A modern peer gets only the three specified codes of that
// range, and none from -32000 to -32019.
func TestModernCodesAreSpecified(t *testing.T) {
	for c := protocol.ConditionInternal; c <= protocol.ConditionUserRejected; c++ {
		switch code := c.Code(protocol.V20260728); code {
		case -32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022:
		default:
			t.Errorf("%v: got %d", c, code)
		}
	}
	// -32042 exists only in 2025-11-25.
	for v, want := range map[protocol.Version]int64{protocol.V20250618: -32603,
		protocol.V20251125: -32042, protocol.V20260728: -32603} {
		if got := protocol.ConditionURLElicitationRequired.Code(v); got != want {
			t.Errorf("%v: got %d, want %d", v, got, want)
		}
	}
	wild := protocol.Condition(200)
	if wild.String() != "internal" || wild.Code(protocol.Latest) != -32603 ||
		wild.Status(protocol.Latest, false) != 200 || wild.Recovery() != protocol.Abort {
		t.Error("a condition that does not exist is not told as internal")
	}
}

func TestOtherErrorsAreTranslated(t *testing.T) {
	_, broken := jsonrpc.Decode([]byte(`{`), jsonrpc.Limits{})
	_, empty := jsonrpc.Decode([]byte(`{}`), jsonrpc.Limits{})
	_, deep := jsonrpc.Decode([]byte(`[[]]`), jsonrpc.Limits{Depth: 1})
	_, large := jsonrpc.Decode([]byte(`{}`), jsonrpc.Limits{Bytes: 1})
	sent := &jsonrpc.Error{Code: -1234, Message: "theirs", Data: jsontext.Value(`7`)}
	for _, tc := range []struct {
		name   string
		err    error
		code   int64
		http   int
		reason string
	}{
		{"broken JSON", broken, -32700, 400, "parse"},
		{"no message", empty, -32600, 400, "invalid_request"},
		{"too deep", deep, -32600, 400, "limits"},
		{"too large", large, -32600, 413, "too_large"},
		{"deadline", fmt.Errorf("call: %w", context.DeadlineExceeded), -32603, 200, "timeout"},
		{"bare condition", protocol.ConditionQueueFull, -32603, 200, "queue_full"},
		{"wrapped", fmt.Errorf("tenant acme: %w", protocol.ToolNotFound("x")), -32602, 200,
			"tool_not_found"},
		{"an upstream's error as the cause", protocol.UpstreamInvalid("files", sent), -32603, 200,
			"upstream_invalid"},
	} {
		e := protocol.Translate(tc.err, protocol.V20260728)
		if e.Code != tc.code || !strings.HasPrefix(string(e.Data), `{"reason":"`+tc.reason+`"`) ||
			!protocol.Mapped(tc.err) {
			t.Errorf("%s: got %v %s", tc.name, e, e.Data)
		}
		if got := protocol.HTTPStatus(tc.err, protocol.V20260728, false); got != tc.http {
			t.Errorf("%s: got %d, want %d", tc.name, got, tc.http)
		}
		if got := protocol.ConditionOf(tc.err).String(); got != tc.reason {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.reason)
		}
	}
	// An error that a server sent stays unchanged.
	if got := protocol.Translate(fmt.Errorf("call: %w", sent), protocol.V20241105); got != sent ||
		!protocol.Mapped(sent) {
		t.Errorf("got %v", got)
	}
	for code, want := range map[int64]int{-32700: 400, -32600: 400, -32020: 400, -32021: 400,
		-32022: 400, -32601: 404, -32602: 200, -1: 200} {
		if got := protocol.HTTPStatus(&jsonrpc.Error{Code: code}, protocol.V20260728,
			false); got != want {
			t.Errorf("%d: got %d, want %d", code, got, want)
		}
		if got := protocol.CodeStatus(code, protocol.V20251125); got != 200 {
			t.Errorf("%d in a legacy session: got %d", code, got)
		}
	}
}

// S4-85: an unmapped error is internal, with a detail that is safe to show.
func TestUnmappedErrorsAreSanitised(t *testing.T) {
	for in, want := range map[string]string{
		"disk is full": "disk is full",
		"panic: boom\n\ngoroutine 7 [running]:\nmain.go:1": "panic: boom",
		"a\x1b[31mred\x00\u202e":                           "a[31mred",
		"get https://ci:s3cret@example.com/x: refused": "get https://[redacted]@example.com/x: " +
			"refused",
		"header Authorization: Bearer abc.def failed": "header Authorization: Bearer [redacted] failed",
		`sent "authorization:bearer abc`:              `sent "authorization:bearer [redacted]`,
		strings.Repeat("é", 200):                      strings.Repeat("é", 128),
		"x" + strings.Repeat("é", 200):                "x" + strings.Repeat("é", 127),
		"see http://example.com/a@b":                  "see http://example.com/a@b",
	} {
		err := errors.New(in)
		e := protocol.Translate(err, protocol.V20251125)
		if protocol.Mapped(err) || e.Code != -32603 || e.Message != "internal error" ||
			protocol.ConditionOf(err) != protocol.ConditionInternal {
			t.Errorf("%q: got %v", in, e)
		}
		expect(t, e.Data, `"internal"`, "reason")
		quoted, _ := jsontext.AppendQuote(nil, want)
		expect(t, e.Data, string(quoted), "detail")
		if protocol.HTTPStatus(err, protocol.Latest, false) != 200 {
			t.Errorf("%q: not 200", in)
		}
	}
}

// S4-73, S4-75, S4-76.
func TestErrorContext(t *testing.T) {
	m := protocol.TranslateErrorWithContext(protocol.ToolNotFound("x"), protocol.ErrorContext{
		RequestID: jsonrpc.IntID(7), Method: "tools/call", Phase: "ready", Version: protocol.V20251125,
		Stack:      "secret",
		Additional: jsontext.Value(`{"tenant":"acme","reason":"forged"}`),
	})
	want := `{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"tool \"x\" not found","data":{"reason":"tool_not_found","tool":"x","method":"tools/call","phase":"ready","tenant":"acme"}}}`
	if got := string(m.Append(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	m = protocol.TranslateErrorWithContext(&jsonrpc.Error{Code: 1, Message: "m"},
		protocol.ErrorContext{})
	if got, want := string(m.Append(nil)),
		`{"jsonrpc":"2.0","error":{"code":1,"message":"m","data":{}}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	m = protocol.BuildErrorResponse(jsonrpc.StringID("a"), -5, "five", jsontext.Value(`[]`))
	if got, want := string(m.Append(nil)),
		`{"jsonrpc":"2.0","id":"a","error":{"code":-5,"message":"five","data":[]}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// S4-77, S4-78, S4-86, S4-87.
func TestRecovery(t *testing.T) {
	for code, want := range map[int64]struct {
		recoverable bool
		action      string
	}{
		protocol.CodeTimeout:          {true, "retry"},
		protocol.CodeRateLimited:      {true, "retry"},
		protocol.CodeTransport:        {true, "reconnect"},
		protocol.CodeNotInitialized:   {false, "reconnect"},
		protocol.CodeResourceNotFound: {false, "abort"},
		-32603:                        {false, "abort"},
		0:                             {false, "abort"},
	} {
		if got := protocol.IsRecoverableError(code); got != want.recoverable {
			t.Errorf("%d: got %v", code, got)
		}
		if got := protocol.SuggestRecoveryAction(code).String(); got != want.action {
			t.Errorf("%d: got %s, want %s", code, got, want.action)
		}
	}
	if protocol.Ignore.String() != "ignore" {
		t.Error("ignore has no name")
	}
	for c := protocol.ConditionInternal; c <= protocol.ConditionUserRejected; c++ {
		byCode := protocol.SuggestRecoveryAction(c.Code(protocol.V20251125))
		if byCode != protocol.Abort && c != protocol.ConditionAlreadyInitialized &&
			byCode != c.Recovery() {
			t.Errorf("%v: %v by its code, %v by itself", c, byCode, c.Recovery())
		}
	}
}

func TestLongNamesAreCut(t *testing.T) {
	e := protocol.Translate(protocol.ToolNotFound(strings.Repeat("x", 1<<20)), protocol.V20251125)
	if len(e.Message) > 300 || len(e.Data) > 400 {
		t.Errorf("got %d and %d bytes", len(e.Message), len(e.Data))
	}
}

// S4-125: below 10 µs.
func BenchmarkErrorTranslation(b *testing.B) {
	err := error(protocol.ResourceNotFound("file:///srv/acme/README.md"))
	b.ReportAllocs()
	for b.Loop() {
		protocol.Translate(err, protocol.V20251125)
	}
}

// Translate gives a wrapped error the same form as a bare one, for which it skips the search.
func TestErrorsAreToldAlikeBehindOthers(t *testing.T) {
	for _, err := range []error{
		protocol.RateLimited(1500 * time.Millisecond), protocol.Overloaded("host", 0),
		protocol.ToolNotFound("x"), protocol.InternalError(errors.New("cause")),
		protocol.ConditionTimeout,
		&jsonrpc.Error{Code: -32602, Message: "unknown tool", Data: jsontext.Value(`{"a":1}`)},
	} {
		for _, v := range protocol.Versions() {
			got, want := protocol.Translate(err, v), protocol.Translate(fmt.Errorf("behind: %w", err), v)
			if got.Code != want.Code || got.Message != want.Message ||
				string(got.Data) != string(want.Data) || protocol.CodeOf(err, v) != got.Code {
				t.Errorf("%v to %v: %+v, want %+v", err, v, got, want)
			}
		}
	}
}
