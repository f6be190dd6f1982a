package client

import (
	"errors"
	"slices"
	"strings"

	"mcpd/actors/client/internal/era"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/stdio"
	"mcpd/transport/streamable"
)

// Ending is how a connection ended, in the words that callers and operators read. As an error it says the same after the host was killed and has
// read it from its store.
type Ending struct {
	Permanent bool    `json:"permanent,omitzero"` // starting the server again does not cure it
	Cause     string  `json:"cause"`              // its class in a word or two
	Text      string  `json:"text"`               // all that is known of it, in one line
	Stderr    string  `json:"stderr,omitzero"`    // the last of what a program wrote to its standard error
	Readers   Readers `json:"readers,omitzero"`   // of Stderr
	Incident  string  `json:"incident,omitzero"`  // by which the log tells of it
	Starts    uint32  `json:"starts,omitzero"`    // that failed in the incident

	err error // what it was; nil when it was read from the store
}

func (e *Ending) Error() string { return e.Text }
func (e *Ending) Unwrap() error { return e.err }

// Withheld reports whether there is something in Stderr that a principal may not read, because it may
// be about somebody else's call.
func (e *Ending) Withheld(principal string) bool {
	return e.Stderr != "" && !e.Readers.May(principal)
}

// The classes of endings.
const (
	Permanent = "permanent" // starting the server again does not help
	Transient = "transient" // it may
)

// Class is "permanent" or "transient".
func (e *Ending) Class() string {
	if e.Permanent {
		return Permanent
	}
	return Transient
}

// Again is the same ending of a server that has ended in this way again and again: one that exits before its handshake is over
// whenever it is started cannot work as it is configured.
func (e *Ending) Again() *Ending {
	again := *e
	again.Permanent = e.Permanent || e.Vain()
	return &again
}

// PutAway reports whether an operator has quarantined the server.
func (e *Ending) PutAway() bool { return e.Permanent && e.Cause == causeOperator }

// Vain reports whether the program was started and did not come to its handshake.
func (e *Ending) Vain() bool { return e.Cause == stdio.CauseHandshake || e.Cause == stdio.CauseUnready }

// Status is the ending as the tree shows it.
func (e *Ending) Status() telemetry.Ending {
	return telemetry.Ending{Cause: e.Text, Class: e.Class(), Stderr: e.Stderr, Incident: e.Incident}
}

// The causes of endings that are not those of a program.
const (
	causeCrashed  = "connection crashed"
	causeSession  = "session lost"
	causeLost     = "connection lost"
	causeOperator = "operator"
	causeStarting = "starting"
	causeRemoved  = "removed"
	causeRevision = "revision"
)

// StillStarting is what callers are told of a server that has not ended, and keeps them waiting for its handshake or its first lists.
func StillStarting() *Ending {
	return &Ending{Cause: causeStarting, Text: "it is still starting"}
}

// ByOperator is the ending of what an operator has ended: for good, until it is released, or to be started again.
func ByOperator(forGood bool, incident string) *Ending {
	e := &Ending{Permanent: forGood, Cause: causeOperator, Text: "an operator has restarted it", Incident: incident}
	if forGood {
		e.Text = "an operator has quarantined it"
	}
	return e
}

// Removed is the ending of a server that a reload has removed from the configuration. Cause is how it
// ended after that, nil when it did not end by itself.
func Removed(cause error) *Ending {
	if cause == nil {
		return &Ending{Permanent: true, Cause: causeRemoved, Text: "a reload has removed it"}
	}
	e := *EndingOf(cause)
	e.Permanent, e.Cause = true, causeRemoved
	return &e
}

// permanentCauses are endings that starting again does not cure: the program is not there, or is none, or may not be executed.
var permanentCauses = []string{stdio.CauseNotFound, stdio.CausePermission, stdio.CauseFormat}

// EndingOf is the ending that an error is, or amounts to.
func EndingOf(err error) *Ending {
	var end *Ending
	if errors.As(err, &end) {
		return end
	}
	end = &Ending{Cause: causeLost, Text: telemetry.Clean(err.Error(), protocol.MaxDetail), err: err}
	var exit *transport.ExitError
	switch {
	case errors.As(err, &exit):
		end.Cause, end.Permanent = exit.Cause, slices.Contains(permanentCauses, exit.Cause)
		end.Stderr = telemetry.Clean(strings.TrimSpace(string(exit.Stderr)), telemetry.MaxValue)
	case errors.Is(err, streamable.ErrSessionLost):
		end.Cause = causeSession
	}
	if other, ok := errors.AsType[era.Unspoken](err); ok {
		end.Cause, end.Permanent, end.Text = causeRevision, true, end.Text+": "+other.Do()
	}
	if o, ok := obstacleOf(err); ok {
		end.Cause, end.Permanent, end.Text = o.Cause, true, end.Text+": "+o.Do
	}
	return end
}

// atStart is an error that came before a server had agreed to anything.
type atStart struct{ error }

func (e atStart) Unwrap() error { return e.error }

// obstacleOf finds the obstacle that an error tells of, at the start of a server also that it
// refuses.
func obstacleOf(err error) (streamable.Obstacle, bool) {
	if _, early := errors.AsType[atStart](err); early {
		return streamable.ObstacleAtStart(err)
	}
	return streamable.ObstacleOf(err)
}

// EndingFor is the ending of the connection with that key. What the program wrote may be read by the
// principal that has the connection alone, unless it is known who may.
func EndingFor(key tenant.Key, err error) *Ending {
	end := EndingOf(err)
	if end.Stderr != "" && end.Readers == (Readers{}) && key.Share != tenant.ByTenant {
		own := *end
		own.Readers = Readers{One: true, Principal: key.Principal}
		return &own
	}
	return end
}
