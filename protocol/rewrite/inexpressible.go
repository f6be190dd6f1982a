package rewrite

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
)

// Inexpressible says that a message has no form in a revision.
type Inexpressible struct {
	Method string
	To     protocol.Version
	Reason string
}

// Error names the method and the revision, and says why.
func (e *Inexpressible) Error() string {
	return e.Method + " cannot be told to " + e.To.String() + ": " + e.Reason
}

// shown is a value that a peer sent, within a reason.
func shown(v jsontext.Value) string { return string(v[:min(len(v), protocol.MaxDetail)]) }
