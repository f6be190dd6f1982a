package protocol

import (
	"fmt"
	"strings"
)

// howToSendKey tells a caller without a key how to send one.
const howToSendKey = "send it as \"Authorization: Bearer KEY\" or as \"X-API-Key: KEY\""

// Unauthenticated returns the error of a caller without a valid key for the tenant. A tenant that
// does not exist yields the same error, so that a caller cannot probe for tenants.
func Unauthenticated() *Error {
	return &Error{
		Condition: ConditionUnauthenticated,
		Message:   "authentication required: this host requires a key; " + howToSendKey,
	}
}

// Forbidden returns the error of a caller that authenticated but lacks a permission.
func Forbidden(detail string) *Error {
	return &Error{Condition: ConditionForbidden, Message: detail}
}

// EndpointNotFound returns the error of a request for a path that leads to no endpoint, or for a
// server that the tenant does not have.
func EndpointNotFound() *Error {
	return &Error{Condition: ConditionEndpointNotFound, Message: "no such server"}
}

// EndpointRemoved returns the error of a request for a server that the tenant no longer has.
func EndpointRemoved(server string) *Error {
	e := UpstreamRemoved(server, false, nil)
	e.Condition = ConditionEndpointNotFound
	return e
}

// shownServers is the number of servers that ServerNotFound names at most.
const shownServers = 20

// ServerNotFound is EndpointNotFound for a caller that may know the servers of its tenant. There
// lists their names.
func ServerNotFound(name string, there []string) *Error {
	if len(there) == 0 {
		return &Error{
			Condition: ConditionEndpointNotFound,
			Message:   fmt.Sprintf("there is no server %s: the tenant has none", name),
		}
	}
	shown := strings.Join(there[:min(len(there), shownServers)], ", ")
	if more := len(there) - shownServers; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return &Error{
		Condition: ConditionEndpointNotFound,
		Message:   fmt.Sprintf("there is no server %s: the tenant has %s", name, shown),
	}
}

// NoOAuth returns the error of a request that looks for OAuth metadata. The host has no
// authorization server.
func NoOAuth() *Error {
	return &Error{
		Condition: ConditionEndpointNotFound,
		Message: "this host has no OAuth: if a tenant has keys, its operator gives you one; " +
			howToSendKey,
	}
}
