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

// PageError says that a page for people came in the place of an answer.
type PageError struct {
	Type string // its media type
	err  error  // what it amounts to; nil for nothing more
}

// Error says of which type the page is.
func (e *PageError) Error() string {
	if e.err != nil {
		return e.err.Error()
	}
	return fmt.Sprintf("the answer is of type %q", e.Type)
}

// Unwrap gives the status that the page amounts to.
func (e *PageError) Unwrap() error { return e.err }

// pages are the media types of pages.
var pages = []string{"text/html", "application/xhtml+xml"}

// unreadable is the error of a response of this type, which has no message in it.
func unreadable(kind string) error {
	if slices.Contains(pages, kind) {
		return &PageError{Type: kind}
	}
	return fmt.Errorf("the answer is of type %q", kind)
}

// ObstacleAtStart finds the obstacle that an error of a handshake tells of: also that the server
// refuses us, or is none. During later requests the same errors may be about one request alone.
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
		return Obstacle{CauseRefused, "the server wants credentials that it accepts: look at its `headers`"}, true
	case status.Status == http.StatusForbidden:
		return Obstacle{CauseRefused, "the server does not allow us in: look at its `headers`"}, true
	}
	return Obstacle{}, false
}
