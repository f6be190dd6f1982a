package streamable

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// The causes of an Obstacle at the start of a server.
const (
	CauseRefused = "refused"
	CausePage    = "page"
)

// PageError says that an HTML page was received in place of an answer.
type PageError struct {
	Type string // its media type
	err  error  // the underlying error; may be nil
}

// Error returns the underlying error or the type of the page.
func (e *PageError) Error() string {
	if e.err != nil {
		return e.err.Error()
	}
	return fmt.Sprintf("the answer is of type %q", e.Type)
}

// Unwrap returns the underlying status error.
func (e *PageError) Unwrap() error { return e.err }

// pages lists the media types of HTML pages.
var pages = []string{"text/html", "application/xhtml+xml"}

// unreadable returns the error of a response with this media type, which contains no message.
func unreadable(kind string) error {
	if slices.Contains(pages, kind) {
		return &PageError{Type: kind}
	}
	return fmt.Errorf("the answer is of type %q", kind)
}

// ObstacleAtStart returns the obstacle that an error of a handshake indicates, including that the
// server refuses access or is no MCP server. During later requests the same errors may concern one
// request alone.
func ObstacleAtStart(err error) (Obstacle, bool) {
	if o, ok := ObstacleOf(err); ok {
		return o, true
	}
	if _, ok := errors.AsType[*PageError](err); ok {
		return Obstacle{CausePage, "the url answers with a page, not as an MCP server: " +
			"correct the url, or look at the server's `headers` if it is a login page"}, true
	}
	status, ok := errors.AsType[*StatusError](err)
	switch {
	case !ok || status.RetryAfter > 0:
	case status.Status == http.StatusUnauthorized:
		return Obstacle{CauseRefused,
			"the server wants credentials that it accepts: look at its `headers`"}, true
	case status.Status == http.StatusForbidden:
		return Obstacle{CauseRefused, "the server does not allow us in: look at its `headers`"}, true
	}
	return Obstacle{}, false
}
