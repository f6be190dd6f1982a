package protocol

import (
	"fmt"
	"strings"
)

// howToSendKey is what a caller without a key has to know.
const howToSendKey = "send it as \"Authorization: Bearer KEY\" or as \"X-API-Key: KEY\""

// Unauthenticated refuses a caller without a valid key for the tenant, or for a tenant that does
// not exist: the two are not told apart.
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

// NoOAuth answers a client that looks for an authorization server.
func NoOAuth() *Error {
	return &Error{
		Condition: ConditionEndpointNotFound,
		Message:   "there is no OAuth here: where a tenant has keys, its operator gives you one; " + howToSendKey,
	}
}
