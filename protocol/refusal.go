package protocol

import (
	"strconv"
	"time"
)

// RateLimited returns the error of a peer that exceeds its rate limit. RetryAfter is the time to
// wait before a retry; 0 if unknown.
func RateLimited(retryAfter time.Duration) *Error {
	return &Error{
		Condition:  ConditionRateLimited,
		Message:    "too many requests",
		RetryAfter: retryAfter,
	}
}

// Overloaded returns the error of a component that accepts no more for now. The argument label
// names the component, for example "tenant acme" or "server files".
func Overloaded(label string, retryAfter time.Duration) *Error {
	return &Error{
		Condition:  ConditionOverloaded,
		Message:    label + " is overloaded",
		RetryAfter: retryAfter,
	}
}

// LimitReached returns the error of a request that would exceed a bound. Its HTTP status is 429 if
// the bound is the caller's own, and 503 otherwise. Detail says in words which bound is full and
// who owns it. The error's data name the bound, the tenant and, if the bound is the caller's own,
// the principal.
func LimitReached(own bool, bound, tenant, principal, detail string,
	retryAfter time.Duration) *Error {
	e := &Error{Condition: ConditionOverloaded, Message: detail, RetryAfter: retryAfter}
	pairs := []string{"limit", bound, "tenant", truncate(tenant)}
	if own {
		e.Condition = ConditionRateLimited
		pairs = append(pairs, "principal", truncate(principal))
	}
	e.Data = data(pairs...)
	return e
}

// Starting returns the error of a component that is still starting. The argument label names the
// component, for example "the session".
func Starting(label string, retryAfter time.Duration) *Error {
	return &Error{
		Condition:  ConditionOverloaded,
		Message:    label + " is being started",
		RetryAfter: retryAfter,
		Data:       unansweredData("", false),
	}
}

// TenantDown returns the error of a request to a tenant that is not running. State describes the
// tenant, for example "paused". Incident is the id under which the log has the reason; empty for
// none. The data say that no server received the request, unless Cut changes them.
func TenantDown(tenant, state, incident string, retryAfter time.Duration) *Error {
	e := &Error{
		Condition:  ConditionOverloaded,
		Message:    "tenant " + tenant + " is " + state,
		RetryAfter: retryAfter,
		Data:       unansweredData("", false),
	}
	if incident != "" {
		e.Data = union(e.Data, data("incident", incident))
	}
	return e
}

// TooLarge returns the error of a message that exceeds limit bytes. The argument label names the
// message, for example "request body".
func TooLarge(label string, limit int) *Error {
	return &Error{
		Condition: ConditionTooLarge,
		Message:   label + " exceeds " + strconv.Itoa(limit) + " bytes",
	}
}

// QueueFull returns the error of a full queue. The argument label names the queue, for example
// "notification queue".
func QueueFull(label string) *Error {
	return &Error{Condition: ConditionQueueFull, Message: label + " is full"}
}
