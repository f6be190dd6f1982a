// Package gateway defines the host's request policy: which decisions are made about a request,
// and in which order. The packages below it make the decisions.
//
// It does not know how a request arrived, nor which code carries out the decisions.
package gateway

import "fmt"

// Decision is one check of a request.
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

// Owner is the package that makes a decision.
type Owner string

// The owners.
const (
	ByEdge    Owner = "transport"      // before anything is known about the caller
	ByWiring  Owner = "supervisor"     // with the configuration at hand
	BySession Owner = "actors/server"  // with the session's state
	ByRequest Owner = "actors/request" // with the requests in flight
)

// Step is one row of the chain.
type Step struct {
	Decision Decision
	By       Owner
	// Refusal is a status or a code. The errors of package protocol say what a revision makes of it.
	Refusal string
	Doc     string
}

// chain is the order of decisions. Checks that cost least and reveal least come first. No body is
// read before the key is known, nothing distinguishes tenants before that, and a message is parsed
// before it is counted.
var chain = []Step{
	{Connection, ByEdge, "closed", "limits on connections, TLS"},
	{Head, ByEdge, "431", "size and number of headers, time to send them"},
	{Host, ByEdge, "403", "the name in Host is one of this host's, which prevents DNS rebinding"},
	{Origin, ByEdge, "403", "a web page may call only from a listed origin"},
	{Path, ByWiring, "404", "the path is exactly that of a tenant, or of a server of a tenant"},
	{Backoff, ByWiring, "429", "an address that failed too often waits"},
	{Authenticate, ByWiring, "401",
		"the key is one of the tenant's; an unknown tenant gets the same answer"},
	{Server, ByWiring, "404", "the tenant has that server"},
	{Media, ByEdge, "405, 415, 406", "method, content type, accepted answers"},
	{Body, ByEdge, "413, 408", "size of the body and time to send it"},
	{Envelope, ByEdge, "-32700, -32600", "the body is one strict JSON-RPC message"},
	{Headers, ByEdge, "-32020", "headers that repeat values of the body agree with them"},
	{Session, ByWiring, "404", "the session is this principal's, at this endpoint"},
	{Revision, BySession, "-32022, 400", "the revision is offered and is the session's"},
	{Phase, BySession, "-32005", "initialized, once"},
	{Gate, BySession, "-32601, -32004", "the revision has the method, both sides have its capability"},
	{Route, BySession, "-32602, -32002", "the name or URI leads to a server"},
	{Admit, ByRequest, "-32010", "room in flight, for the session and for the tenant"},
}

// Chain returns the decisions in order.
func Chain() []Step { return append([]Step(nil), chain...) }

// Arrange puts one owner's decisions in their order. It fails if a decision is missing or belongs
// to another owner.
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
