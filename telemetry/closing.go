package telemetry

import "strings"

// Closing is the reason why a session ended. Metrics and the log use its word, which
// docs/telemetry.gen.md lists. The log also has its phrase.
type Closing uint8

// The reasons. The zero value is an ordinary close.
const (
	ClosedNormally Closing = iota
	ClosedByClient
	ClosedUnclaimed
	ClosedRefused
	ClosedIdle
	ClosedAged
	ClosedUninitialized
	ClosedEvicted
	ClosedUnconfigured
	ClosedStopped
	ClosedCrashed
)

// closings is the table. Several reasons share a word, which keeps the number of series small.
var closings = [...]struct {
	word, phrase string
	routine      bool // no operator needs to look at it
}{
	ClosedNormally:      {"closed", "closed", true},
	ClosedByClient:      {"closed", "deleted by its client", true},
	ClosedUnclaimed:     {"closed", "its client left before the session was open", true},
	ClosedRefused:       {"closed", "its handshake was refused", true},
	ClosedIdle:          {"expired", "idle for too long", true},
	ClosedAged:          {"expired", "too old", true},
	ClosedUninitialized: {"expired", "initialization_timeout", true},
	ClosedEvicted:       {"evicted", "made room for another session", false},
	ClosedUnconfigured:  {"draining", "its tenant, server or key is no longer configured", false},
	ClosedStopped:       {"draining", "its tenant stopped before the handshake was over", false},
	ClosedCrashed:       {"crashed", "crashed before the handshake was over", false},
}

// String returns the word: the value of the field `cause` and of the label.
func (c Closing) String() string { return closings[c].word }

// Routine reports whether sessions often end for this reason. The log line is then at level
// debug.
func (c Closing) Routine() bool { return closings[c].routine }

// Phrase explains the reason to people.
func (c Closing) Phrase() string { return closings[c].phrase }

// Means lists the words, for the documentation.
func (Closing) Means() string {
	var words []string
	for _, row := range closings {
		if len(words) == 0 || words[len(words)-1] != row.word {
			words = append(words, row.word)
		}
	}
	return strings.Join(words, ", ") + "; `reason` says it in a phrase"
}
