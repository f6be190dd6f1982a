package load

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// The error keeps one line of the body, cleaned of control characters.
func TestStatusErrorsSayWhatTheServerSaid(t *testing.T) {
	long := strings.Repeat("a", MaxStatusText+7)
	for body, want := range map[string]string{
		"":                           "http status 503",
		" \r\n":                      "http status 503",
		"no upstream\nsecond line\n": "http status 503: no upstream",
		"\n a\x1b[2Jb\r\n":           `http status 503: a\x1b[2Jb`,
		long:                         "http status 503: " + long[:MaxStatusText] + "… (7 bytes more)",
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32010,"message":"tenant acme is overloaded","data":{"incident":"i-1"}}}`: "http status 503: tenant acme is overloaded",
		`{"error":"something else"}`: `http status 503: {"error":"something else"}`,
	} {
		got := statusError(&http.Response{StatusCode: 503, Body: io.NopCloser(strings.NewReader(body))})
		if got.Error() != want {
			t.Errorf("%.40q: got %q, want %q", body, got, want)
		}
	}
}

// An unknown method, or a failed tool, is a permanent error. A server that is starting, or a host
// without capacity, is not.
func TestFinalErrorsAreTheServersWord(t *testing.T) {
	for _, test := range []struct {
		err  error
		want bool
	}{
		{&CallError{Code: -32602, Message: "no such tool"}, true},
		{fmt.Errorf("acme: %w", &CallError{Code: -32601}), true},
		{ToolError("it has no disk"), true},
		{&CallError{Code: -32009}, false},
		{StatusError{Status: 503}, false},
		{ErrNoReply, false},
		{errors.New("connection reset"), false},
		{nil, false},
	} {
		if got := Permanent(test.err); got != test.want {
			t.Errorf("%v: %t", test.err, got)
		}
	}
}
