package client

import (
	"crypto/sha256"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"mcpd/gateway/quota"
	"mcpd/supervisor/otp"
	"mcpd/transport/streamable"
)

// SharedServerState is what the connections to one server know about it from each other. The zero
// value is that nothing is known.
type SharedServerState struct {
	endsOnProbe atomic.Bool // the server ended when it was probed
	retries     quota.Retries

	mu            sync.Mutex       // guards the fields below; never held during a wait
	ready         map[otp.Ref]bool // connections that are ready
	starts        map[otp.Ref]bool // connections that are being started
	trouble       sharedIncident
	openQuestions map[[sha256.Size]byte]time.Time // open questions, and when each was asked
}

// Records yields how many there are: the server itself, its ready connections, its open questions.
func (k *SharedServerState) Records(yield func(kind string, n int) bool) {
	k.mu.Lock()
	ready, asked := len(k.ready), len(k.openQuestions)
	k.mu.Unlock()
	_ = yield("known_servers", 1) && yield("ready_connections", ready) &&
		yield("open_questions", asked)
}

// atMostOneReady reports whether no more than one connection is ready.
func (k *SharedServerState) atMostOneReady() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.ready) <= 1
}

// questionOpened records that a question was passed on. At MaxAsked the oldest is forgotten.
func (k *SharedServerState) questionOpened(question [sha256.Size]byte, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.openQuestions, func(_ [sha256.Size]byte, at time.Time) bool {
		return now.Sub(at) > AskedFor
	})
	if len(k.openQuestions) >= MaxAsked {
		oldest, first := now, [sha256.Size]byte{}
		for q, at := range k.openQuestions {
			if !at.After(oldest) {
				oldest, first = at, q
			}
		}
		delete(k.openQuestions, first)
	}
	if k.openQuestions == nil {
		k.openQuestions = map[[sha256.Size]byte]time.Time{}
	}
	k.openQuestions[question] = now
}

// questionClosed records that a question is no longer open.
func (k *SharedServerState) questionClosed(question [sha256.Size]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.openQuestions, question)
}

// isAsked reports whether a question is open at some connection.
func (k *SharedServerState) isAsked(question [sha256.Size]byte, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	at, is := k.openQuestions[question]
	return is && now.Sub(at) <= AskedFor
}

// sharedIncident is the incident of a server behind a URL. All connections to the server share it,
// because whatever happens to the server happens to each of them.
type sharedIncident struct {
	incident string
	at       time.Time // when it began
	over     bool      // some connection has been ready since
	// told are the statuses of the server that were reported, each of them once; 0 is for no answer.
	told map[int]bool
}

// MaxIncidentStatuses bounds the statuses of one incident that are reported.
const MaxIncidentStatuses = 8

// firstReport reports whether a status was not reported yet in this incident, and records it.
func (k *SharedServerState) firstReport(status int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := &k.trouble
	if t.told[status] || len(t.told) >= MaxIncidentStatuses {
		return false
	}
	if t.told == nil {
		t.told = map[int]bool{}
	}
	t.told[status] = true
	return true
}

// unusableStatus returns the status of an answer of the server that cannot be used. It is 0 when
// nothing has answered, or only a gateway before the server has.
func unusableStatus(end *Ending) int {
	var status *streamable.StatusError
	if errors.As(end, &status) && !status.Gateway() {
		return status.Status
	}
	return 0
}

// began returns the incident of an end, and whether this is the first connection that the incident
// ended. Since is when the connection was last ready, or was made: a connection that was in use
// before the trouble began belongs to the same incident.
func (k *SharedServerState) began(since, now time.Time, fresh string) (incident string,
	first bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := &k.trouble
	if t.incident != "" && (!t.over || !since.After(t.at)) {
		return t.incident, false
	}
	*t = sharedIncident{incident: fresh, at: now}
	return fresh, true
}

// markReady records that a connection is ready, and reports whether it is the first that is. That
// ends the trouble.
func (k *SharedServerState) markReady(connection otp.Ref) (first bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	first = len(k.ready) == 0
	if k.ready == nil {
		k.ready = map[otp.Ref]bool{}
	}
	k.ready[connection], k.trouble.over = true, true
	delete(k.starts, connection)
	return first
}

// markStarting records that a connection is being started, and reports whether that is to be
// reported. It is routine when another connection is ready or being started, or the server is in
// trouble.
func (k *SharedServerState) markStarting(connection otp.Ref) (changed bool) {
	changed = !k.routine()
	k.mu.Lock()
	defer k.mu.Unlock()
	changed = changed && len(k.starts) == 0
	if k.starts == nil {
		k.starts = map[otp.Ref]bool{}
	}
	k.starts[connection] = true
	return changed
}

// markNotReady records that a connection is neither ready nor being started.
func (k *SharedServerState) markNotReady(connection otp.Ref) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.ready, connection)
	delete(k.starts, connection)
}

// routine reports whether the start of a connection needs no report: another connection is ready,
// or the server is in trouble and is tried again.
func (k *SharedServerState) routine() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.ready) > 0 || k.trouble.incident != "" && !k.trouble.over
}
