package protocol

import (
	"strconv"
	"time"
)

// RateLimited asks the peer to slow down.
func RateLimited(retryAfter time.Duration) *Error {
	return &Error{
		Condition:  ConditionRateLimited,
		Message:    "too many requests",
		RetryAfter: retryAfter,
	}
}

// Overloaded says that what, as "tenant acme" or "server files", can take no more now.
func Overloaded(what string, retryAfter time.Duration) *Error {
	return &Error{
		Condition:  ConditionOverloaded,
		Message:    what + " is overloaded",
		RetryAfter: retryAfter,
	}
}

// Full refuses what would exceed a bound: 503, or 429 where the bound is the caller's own. Detail
// says what is full and whose it is; the same is told in data, by the bound's name and its owners'
// names.
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

// Unready says that what, as "the session", cannot take a message for the moment: it is being
// started.
func Unready(what string, retryAfter time.Duration) *Error {
	return &Error{
		Condition:  ConditionOverloaded,
		Message:    what + " is being started",
		RetryAfter: retryAfter,
		Data:       unfinished("", false),
	}
}

// TenantDown refuses what is asked of a tenant that does not run. State says how it stands, and
// incident is what the log calls the reason. The request reached no server, unless Cut says
// otherwise.
func TenantDown(tenant, state, incident string, retryAfter time.Duration) *Error {
	e := &Error{
		Condition:  ConditionOverloaded,
		Message:    "tenant " + tenant + " is " + state,
		RetryAfter: retryAfter,
		Data:       unfinished("", false),
	}
	if incident != "" {
		e.Data = union(e.Data, data("incident", incident))
	}
	return e
}

// TooLarge refuses what, as "request body", for exceeding its bound in bytes.
func TooLarge(what string, limit int) *Error {
	return &Error{
		Condition: ConditionTooLarge,
		Message:   what + " exceeds " + strconv.Itoa(limit) + " bytes",
	}
}

// QueueFull says that what, as "notification queue", holds as much as it may.
func QueueFull(what string) *Error {
	return &Error{Condition: ConditionQueueFull, Message: what + " is full"}
}
