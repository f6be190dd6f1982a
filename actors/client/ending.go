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

// Ending is how a connection ended, in the words that callers and operators read. As an error it
// reads the same after the host was killed and has restored it from its store.
type Ending struct {
	Permanent bool    `json:"permanent,omitzero"` // starting the server again does not help
	Cause     string  `json:"cause"`              // class of the ending, in a word or two
	Text      string  `json:"text"`               // all that is known, in one line
	Stderr    string  `json:"stderr,omitzero"`    // end of what a program wrote to its standard error
	Readers   Readers `json:"readers,omitzero"`   // who may read Stderr
	Incident  string  `json:"incident,omitzero"`  // id of the incident in the log
	Starts    uint32  `json:"starts,omitzero"`    // failed starts in the incident

	err error // the original error; nil when read from the store
}

func (e *Ending) Error() string { return e.Text }
func (e *Ending) Unwrap() error { return e.err }

// Withheld reports whether Stderr holds text that a principal may not read, because it may be about
// somebody else's call.
func (e *Ending) Withheld(principal string) bool {
	return e.Stderr != "" && !e.Readers.May(principal)
}

// The classes of endings.
const (
	Permanent = "permanent" // starting the server again does not help
	Transient = "transient" // starting the server again may help
)

// Class returns Permanent or Transient.
func (e *Ending) Class() string {
	if e.Permanent {
		return Permanent
	}
	return Transient
}

// Again returns the same ending for a server that has ended in this way again and again. It is
// permanent if the program never came to its handshake: such a program cannot work as configured.
func (e *Ending) Again() *Ending {
	again := *e
	again.Permanent = e.Permanent || e.NeverReady()
	return &again
}

// QuarantinedByOperator reports whether an operator has quarantined the server.
func (e *Ending) QuarantinedByOperator() bool { return e.Permanent && e.Cause == causeOperator }

// NeverReady reports whether the program was started and did not reach its handshake.
func (e *Ending) NeverReady() bool {
	return e.Cause == stdio.CauseHandshake || e.Cause == stdio.CauseUnready
}

// Status returns the ending as the tree shows it.
func (e *Ending) Status() telemetry.Ending {
	return telemetry.Ending{Cause: e.Text, Class: e.Class(), Stderr: e.Stderr, Incident: e.Incident}
}

// Causes of endings other than those of a program.
const (
	causeCrashed  = "connection crashed"
	causeSession  = "session lost"
	causeLost     = "connection lost"
	causeOperator = "operator"
	causeStarting = "starting"
	causeRemoved  = "removed"
	causeRevision = "revision"
)

// StillStarting is told to callers of a server that has not ended, and keeps them waiting for its
// handshake or its first lists.
func StillStarting() *Ending {
	return &Ending{Cause: causeStarting, Text: "it is still starting"}
}

// EndedByOperator returns the ending of a server that an operator has ended: for good, until it is
// released, or to be started again.
func EndedByOperator(forGood bool, incident string) *Ending {
	e := &Ending{
		Permanent: forGood, Cause: causeOperator, Text: "an operator has restarted it",
		Incident: incident,
	}
	if forGood {
		e.Text = "an operator has quarantined it"
	}
	return e
}

// Removed returns the ending of a server that a reload has removed from the configuration. Cause is
// how the server ended after that, nil if it did not end by itself.
func Removed(cause error) *Ending {
	if cause == nil {
		return &Ending{Permanent: true, Cause: causeRemoved, Text: "a reload has removed it"}
	}
	e := *EndingOf(cause)
	e.Permanent, e.Cause = true, causeRemoved
	return &e
}

// permanentCauses are endings that another start does not cure: the program does not exist, is not
// a program, or may not be executed.
var permanentCauses = []string{stdio.CauseNotFound, stdio.CausePermission, stdio.CauseFormat}

// EndingOf returns the ending that err wraps, or else one made of err.
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
	if other, ok := errors.AsType[era.UnsupportedRevision](err); ok {
		end.Cause, end.Permanent, end.Text = causeRevision, true, end.Text+": "+other.Advice()
	}
	if o, ok := obstacleOf(err); ok {
		end.Cause, end.Permanent, end.Text = o.Cause, true, end.Text+": "+o.Do
	}
	return end
}

// atStart marks an error that came before the server had agreed to anything.
type atStart struct{ error }

func (e atStart) Unwrap() error { return e.error }

// obstacleOf finds the obstacle that an error reports. At the start of a server its refusal is an
// obstacle too.
func obstacleOf(err error) (streamable.Obstacle, bool) {
	if _, early := errors.AsType[atStart](err); early {
		return streamable.ObstacleAtStart(err)
	}
	return streamable.ObstacleOf(err)
}

// EndingFor returns the ending of the connection with that key. Unless it is known who may read
// what the program wrote, the principal that has the connection to itself may.
func EndingFor(key tenant.Key, err error) *Ending {
	end := EndingOf(err)
	if end.Stderr != "" && end.Readers == (Readers{}) && key.Share != tenant.ByTenant {
		own := *end
		own.Readers = Readers{One: true, Principal: key.Principal}
		return &own
	}
	return end
}
