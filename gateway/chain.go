// Package gateway is the host's policy: what is decided about a request, and in which order. The decisions themselves are in the
// packages below it.
//
// It does not know how a request came in, nor who carries the decisions out.
package gateway

import "fmt"

// Decision is one thing that is decided about a request.
type Decision uint8

// The decisions, in their order.
const (
	Connection Decision = iota
	Head
	Host
	Origin
	Path
	Backoff
	Authenticate
	Server
	Media
	Body
	Envelope
	Headers
	Session
	Revision
	Phase
	Gate
	Route
	Admit
)

// Owner is who takes a decision.
type Owner string

// Owners.
const (
	ByEdge    Owner = "transport"      // before anything is known about the caller
	ByWiring  Owner = "supervisor"     // with the configuration in hand
	BySession Owner = "actors/server"  // with the session's state
	ByRequest Owner = "actors/request" // with what is in flight
)

// Step is one row of the chain.
type Step struct {
	Decision Decision
	By       Owner
	Refusal  string // status or code; see the errors of the protocol for what a revision makes of it
	Doc      string
}

// chain is the order. What costs least and says least comes first: nobody's body is read before their key is known, nothing tells
// tenants apart before that either, and a message is understood before it is counted.
var chain = []Step{
	{Connection, ByEdge, "closed", "limits on connections, TLS"},
	{Head, ByEdge, "431", "size and number of headers, time to send them"},
	{Host, ByEdge, "403", "the name in Host is one of ours: no DNS rebinding"},
	{Origin, ByEdge, "403", "a web page may call only from a listed origin"},
	{Path, ByWiring, "404", "the path names a tenant and perhaps a server, exactly"},
	{Backoff, ByWiring, "429", "an address that failed too often waits"},
	{Authenticate, ByWiring, "401", "the key is one of the tenant's; an unknown tenant is no other answer"},
	{Server, ByWiring, "404", "the tenant has that server"},
	{Media, ByEdge, "405, 415, 406", "method, content type, accepted answers"},
	{Body, ByEdge, "413, 408", "size of the body and time to send it"},
	{Envelope, ByEdge, "-32700, -32600", "the body is one strict JSON-RPC message"},
	{Headers, ByEdge, "-32020", "what headers repeat is what the body says"},
	{Session, ByWiring, "404", "the session is this principal's, at this endpoint"},
	{Revision, BySession, "-32022, 400", "the revision is offered and is the session's"},
	{Phase, BySession, "-32005", "initialized, once"},
	{Gate, BySession, "-32601, -32004", "the revision has the method, both sides have its capability"},
	{Route, BySession, "-32602, -32002", "the name or URI leads to a server"},
	{Admit, ByRequest, "-32010", "room in flight, for the session and for the tenant"},
}

// Chain returns the decisions in order.
func Chain() []Step { return append([]Step(nil), chain...) }

// Arrange puts one owner's decisions into their order. It fails when one of them is missing or is another's.
func Arrange[F any](by Owner, taken map[Decision]F) ([]F, error) {
	var ordered []F
	for _, step := range chain {
		f, ok := taken[step.Decision]
		switch {
		case step.By == by && !ok:
			return nil, fmt.Errorf("%s does not decide: %s", by, step.Doc)
		case step.By != by && ok:
			return nil, fmt.Errorf("%s decides what is for %s: %s", by, step.By, step.Doc)
		case ok:
			ordered = append(ordered, f)
		}
	}
	return ordered, nil
}
