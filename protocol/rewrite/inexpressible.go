package rewrite

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
)

// Inexpressible is the error of a message that has no form in the revision To.
type Inexpressible struct {
	Method string
	To     protocol.Version
	Reason string
}

// Error names the method, the revision and the reason.
func (e *Inexpressible) Error() string {
	return e.Method + " cannot be told to " + e.To.String() + ": " + e.Reason
}

// shown returns a value of a peer, cut to protocol.MaxDetail bytes, for Inexpressible.Reason.
func shown(v jsontext.Value) string { return string(v[:min(len(v), protocol.MaxDetail)]) }
