package streamable

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"mcpd/protocol/jsonrpc"
)

// ErrSessionLost says that the server no longer knows the session. It answered 404 to the session
// id (2025-11-25 §basic/transports, "Session Management"), or 400 and then 400 to a ping too. The
// request that received the answer was not executed. The error ends the connection; a new
// connection begins with initialize.
var ErrSessionLost = errors.New("the server has lost the session")

// Undelivered is an Inbound.Control. It says that a notification or an answer of the client did not
// arrive.
type Undelivered struct {
	Method string     // of a notification
	ID     jsonrpc.ID // of an answer
	Err    error
	// Written says that it may have arrived nevertheless.
	Written bool
}

// StandaloneState is an Inbound.Control. It reports the state of the standalone GET stream.
type StandaloneState struct {
	Open bool  // it was opened; otherwise there is no stream, and none will follow
	Gap  bool  // messages since an earlier stream may be missing
	Err  error // why there is no stream; nil if the server offers none (405)
}

// Unreached is an Inbound.Control. It says that no connection could be made for a stream of the
// server.
type Unreached struct{ Err error }

// Unreadable is an Inbound.Control. It says that an event on a stream was no message.
type Unreadable struct{ Err error }

// StatusError is an HTTP response that contains no JSON-RPC answer.
type StatusError struct {
	Status     int
	Body       string        // its beginning, printable, without the values of the configured headers
	Challenge  string        // WWW-Authenticate, with 401 and 403
	RetryAfter time.Duration // 0 if not stated
	Location   string        // of a redirect that was not followed: host and path
	Moved      string        // Location with its scheme
}

const (
	// maxErrorBody is the maximum stored size of an error body, in bytes.
	maxErrorBody = 4 << 10
	// maxErrorRead is the maximum number of bytes read of an error body. A JSON-RPC error may contain
	// data.
	maxErrorRead = 64 << 10
	// shownBody is the number of bytes of the body in the error's text.
	shownBody = 256
)

// Error returns the status and the text that the server sent with it.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("status %d %s", e.Status, http.StatusText(e.Status))
	if e.Location != "" {
		text += fmt.Sprintf(": redirect to %q not followed", e.Location)
	}
	if e.Body != "" {
		text += fmt.Sprintf(": %q", e.Body[:min(len(e.Body), shownBody)])
	}
	return text
}

// MaybeUnknown reports whether the status may come from a server that does not know this kind of
// request, so that it may understand the handshake of another revision. It is false for statuses of
// server failures, authentication, rate limits and redirects (2026-07-28 §basic/versioning).
func (e *StatusError) MaybeUnknown() bool {
	return e.Status < http.StatusInternalServerError && e.Status != http.StatusUnauthorized &&
		e.Status != http.StatusForbidden &&
		e.Status != http.StatusTooManyRequests && e.Status != http.StatusProxyAuthRequired &&
		!isRedirect(e.Status)
}

// BadRequest reports whether the server refused the request as invalid. Servers also do so for an
// unsupported revision.
func (e *StatusError) BadRequest() bool { return e.Status == http.StatusBadRequest }

// NotServed reports whether the status says that the address does not accept the HTTP method: for a
// POST to the stream of HTTP+SSE, or a GET where there is no standalone stream.
func (e *StatusError) NotServed() bool {
	return e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed
}

// Unsupported reports whether the status says that the server does not know the kind of request
// that was sent to it.
func (e *StatusError) Unsupported() bool {
	return e.NotServed() || e.Status == http.StatusNotImplemented
}

// Gateway reports whether an intermediary between client and server returned the status because it
// has no answer of the server.
func (e *StatusError) Gateway() bool {
	return e.Status == http.StatusBadGateway || e.Status == http.StatusGatewayTimeout ||
		e.Status == http.StatusServiceUnavailable && !e.RetryLater()
}

// final reports whether a retry is useless.
func (e *StatusError) final() bool { return e.Status < 500 && e.RetryAfter == 0 }

// executed reports whether the server may have executed a request that it answered with this
// status. A refused request was not executed.
func (e *StatusError) executed() bool {
	return !e.RetryLater() && (e.Status < 300 || e.Status == http.StatusRequestTimeout ||
		e.Status >= 500)
}

// RetryLater reports whether the server asks all clients to retry later (RFC 9110 §15.6.4, RFC 6585
// §4), or has ended the connection before it read a request and states a delay (RFC 9110
// §15.5.9). A 503 without Retry-After does not count, because the request may have failed during
// execution.
func (e *StatusError) RetryLater() bool {
	switch e.Status {
	case http.StatusTooManyRequests:
		return true
	case http.StatusServiceUnavailable, http.StatusRequestTimeout:
		return e.RetryAfter > 0
	}
	return false
}

// newStatusError returns a StatusError for a response. body contains the part of the body that was
// read.
func (c *Client) newStatusError(resp *http.Response, body []byte) *StatusError {
	e := &StatusError{
		Status: resp.StatusCode, Body: c.printable(body),
		RetryAfter: retryTime(resp.Header.Get("Retry-After"), time.Now()),
	}
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		e.Challenge = c.printable([]byte(resp.Header.Get("WWW-Authenticate")))
	}
	if 300 <= resp.StatusCode && resp.StatusCode < 400 {
		if to, err := c.url.Parse(resp.Header.Get("Location")); err == nil {
			e.Location = to.Host + to.Path
			if resp.Header.Get("Location") != "" {
				e.Moved = c.printable([]byte(to.Scheme + "://" + e.Location))
			}
		}
	}
	return e
}

// errorBody reads an error body. It ignores read errors, because the status is sufficient.
func errorBody(resp *http.Response) []byte {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorRead))
	return body
}

// printable makes text of a server safe for an error message: without control characters, and
// without the values of the configured headers.
func (c *Client) printable(text []byte) string {
	s := strings.ToValidUTF8(string(text[:min(len(text), maxErrorBody)]), "")
	for _, values := range c.given {
		for _, v := range values {
			for _, secret := range append([]string{v}, strings.Fields(v)...) {
				if len(secret) >= leastSecret {
					s = strings.ReplaceAll(s, secret, "[redacted]")
				}
			}
		}
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s))
}

// leastSecret is the length from which a word of a header's value counts as a secret. "Bearer" is
// shorter.
const leastSecret = 8

// retryTime parses Retry-After, which contains seconds or a date (RFC 9110 §10.2.3).
func retryTime(value string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil && seconds > 0 {
		return min(time.Duration(seconds)*time.Second, maxRetry)
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return min(at.Sub(now), maxRetry)
	}
	return 0
}
