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

// Known is what the connections to one server know about it from each other. The zero value is that
// nothing is known.
type Known struct {
	dies    atomic.Bool // the server ended when it was probed
	retries quota.Retries

	mu      sync.Mutex       // guards the fields below; never held during a wait
	ready   map[otp.Ref]bool // connections that are ready
	starts  map[otp.Ref]bool // connections that are being started
	trouble trouble
	asked   map[[sha256.Size]byte]time.Time // open questions, and when each was asked
}

// Records yields how many there are: the server itself, its ready connections, its open questions.
func (k *Known) Records(yield func(kind string, n int) bool) {
	k.mu.Lock()
	ready, asked := len(k.ready), len(k.asked)
	k.mu.Unlock()
	_ = yield("known_servers", 1) && yield("ready_connections", ready) &&
		yield("open_questions", asked)
}

// alone reports whether no more than one connection is ready.
func (k *Known) alone() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.ready) <= 1
}

// ask records that a question was passed on. At MaxAsked the oldest is forgotten.
func (k *Known) ask(question [sha256.Size]byte, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.asked, func(_ [sha256.Size]byte, at time.Time) bool {
		return now.Sub(at) > AskedFor
	})
	if len(k.asked) >= MaxAsked {
		oldest, first := now, [sha256.Size]byte{}
		for q, at := range k.asked {
			if !at.After(oldest) {
				oldest, first = at, q
			}
		}
		delete(k.asked, first)
	}
	if k.asked == nil {
		k.asked = map[[sha256.Size]byte]time.Time{}
	}
	k.asked[question] = now
}

// settle records that a question is no longer open.
func (k *Known) settle(question [sha256.Size]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.asked, question)
}

// isAsked reports whether a question is open at some connection.
func (k *Known) isAsked(question [sha256.Size]byte, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	at, is := k.asked[question]
	return is && now.Sub(at) <= AskedFor
}

// trouble is the incident of a server behind a URL. All connections to the server share it, because
// whatever happens to the server happens to each of them.
type trouble struct {
	incident string
	at       time.Time // when it began
	over     bool      // some connection has been ready since
	// told are the statuses of the server that were reported, each of them once; 0 is for no answer.
	told map[int]bool
}

// MaxTrouble bounds the statuses of one incident that are reported.
const MaxTrouble = 8

// isNews reports whether a status was not reported yet in this incident, and records it.
func (k *Known) isNews(status int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := &k.trouble
	if t.told[status] || len(t.told) >= MaxTrouble {
		return false
	}
	if t.told == nil {
		t.told = map[int]bool{}
	}
	t.told[status] = true
	return true
}

// troubleOf returns the status of an answer of the server that cannot be used. It is 0 when nothing
// has answered, or only a gateway before the server has.
func troubleOf(end *Ending) int {
	var status *streamable.StatusError
	if errors.As(end, &status) && !status.Gateway() {
		return status.Status
	}
	return 0
}

// began returns the incident of an end, and whether this is the first connection that the incident
// ended. Since is when the connection was last ready, or was made: a connection that was in use
// before the trouble began belongs to the same incident.
func (k *Known) began(since, now time.Time, fresh string) (incident string, first bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := &k.trouble
	if t.incident != "" && (!t.over || !since.After(t.at)) {
		return t.incident, false
	}
	*t = trouble{incident: fresh, at: now}
	return fresh, true
}

// is records that a connection is ready, and reports whether it is the first that is. That ends the
// trouble.
func (k *Known) is(connection otp.Ref) (first bool) {
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

// begins records that a connection is being started, and reports whether that is to be reported. It
// is routine when another connection is ready or being started, or the server is in trouble.
func (k *Known) begins(connection otp.Ref) (news bool) {
	news = !k.routine()
	k.mu.Lock()
	defer k.mu.Unlock()
	news = news && len(k.starts) == 0
	if k.starts == nil {
		k.starts = map[otp.Ref]bool{}
	}
	k.starts[connection] = true
	return news
}

// isNot records that a connection is neither ready nor being started.
func (k *Known) isNot(connection otp.Ref) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.ready, connection)
	delete(k.starts, connection)
}

// routine reports whether the start of a connection needs no report: another connection is ready,
// or the server is in trouble and is tried again.
func (k *Known) routine() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.ready) > 0 || k.trouble.incident != "" && !k.trouble.over
}
