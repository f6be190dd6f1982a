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

// ErrSessionLost says that the server does not know our session any more: it answered 404 to its id (2025-11-25 §basic/transports, "Session
// Management"), or 400, and then 400 to a ping too. The request it came for was not executed. It ends the connection; a new one begins with
// initialize.
var ErrSessionLost = errors.New("the server has lost the session")

// Undelivered is the Inbound.Control that tells that a notification, or an answer of ours, did not arrive.
type Undelivered struct {
	Method string     // of a notification
	ID     jsonrpc.ID // of an answer
	Err    error
	// Written says that it may have arrived all the same.
	Written bool
}

// Standing is the Inbound.Control that tells what became of the standing GET stream.
type Standing struct {
	Open bool  // it was opened; otherwise there is none, and there will be none
	Gap  bool  // messages since an earlier one may have been missed
	Err  error // why there is none; nil if the server offers none (405)
}

// Unreached is the Inbound.Control that tells that no connection could be made for a stream of the server.
type Unreached struct{ Err error }

// Unreadable is the Inbound.Control that tells that an event on a stream was no message.
type Unreadable struct{ Err error }

// StatusError is an HTTP response that is no answer.
type StatusError struct {
	Status     int
	Body       string        // its beginning, printable, without the values of our headers
	Challenge  string        // WWW-Authenticate, with 401 and 403
	RetryAfter time.Duration // 0 for not said
	Location   string        // of a redirect, which is not followed: host and path
	Moved      string        // the same with its scheme
}

const (
	// maxErrorBody is how much of a body that is no answer is kept.
	maxErrorBody = 4 << 10
	// maxExcuse is how much of one is read: a JSON-RPC error may carry data.
	maxExcuse = 64 << 10
	// shownBody is how much of that is part of the error's text.
	shownBody = 256
)

// Error says the status and what the server said with it.
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

// Foreign reports whether the status may be the answer of a server that does not know the kind of request: what begins as another revision
// does may be understood. It is not so when the server has trouble of its own, wants to know first who is asking, or is elsewhere
// (2026-07-28 §basic/versioning).
func (e *StatusError) Foreign() bool {
	return e.Status < http.StatusInternalServerError && e.Status != http.StatusUnauthorized && e.Status != http.StatusForbidden &&
		e.Status != http.StatusTooManyRequests && e.Status != http.StatusProxyAuthRequired && !isRedirect(e.Status)
}

// BadRequest reports whether the server refused what was asked as such: it says so also of a revision
// that it does not speak.
func (e *StatusError) BadRequest() bool { return e.Status == http.StatusBadRequest }

// Nowhere reports whether the status says that nothing takes the method of HTTP at this address:
// a POST where the stream of HTTP+SSE is, or a GET where there is no standing stream.
func (e *StatusError) Nowhere() bool {
	return e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed
}

// Gateway reports whether something between us and the server said that it has no answer from it.
func (e *StatusError) Gateway() bool {
	return e.Status == http.StatusBadGateway || e.Status == http.StatusGatewayTimeout || e.Status == http.StatusServiceUnavailable && !e.Later()
}

// final reports that asking again will not help.
func (e *StatusError) final() bool { return e.Status < 500 && e.RetryAfter == 0 }

// executed reports whether the server may have acted on a request that it answered so. What it refuses, it has not done.
func (e *StatusError) executed() bool {
	return !e.Later() && (e.Status < 300 || e.Status == http.StatusRequestTimeout || e.Status >= 500)
}

// Later reports whether the server takes the request now from nobody, and will later (RFC 9110
// §15.6.4, RFC 6585 §4), or has ended the connection before it read one and says when to come back
// (RFC 9110 §15.5.9). One that is unavailable without saying until when may have failed on the way.
func (e *StatusError) Later() bool {
	switch e.Status {
	case http.StatusTooManyRequests:
		return true
	case http.StatusServiceUnavailable, http.StatusRequestTimeout:
		return e.RetryAfter > 0
	}
	return false
}

// newStatusError takes what matters from a response. Body is what was read of it.
func (c *Client) newStatusError(resp *http.Response, body []byte) *StatusError {
	e := &StatusError{Status: resp.StatusCode, Body: c.printable(body), RetryAfter: retryTime(resp.Header.Get("Retry-After"), time.Now())}
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

// excuse reads what came with a status that is no success. What cannot be read is left out: the status says enough.
func excuse(resp *http.Response) []byte {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxExcuse))
	return body
}

// printable makes what a server said fit for an error text: no control characters, and none of the values that we sent it.
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

// leastSecret is the length from which a word of a header's value is taken for a secret. "Bearer" is none.
const leastSecret = 8

// retryTime reads Retry-After, which is seconds or a date (RFC 9110 §10.2.3).
func retryTime(value string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil && seconds > 0 {
		return min(time.Duration(seconds)*time.Second, maxRetry)
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return min(at.Sub(now), maxRetry)
	}
	return 0
}
