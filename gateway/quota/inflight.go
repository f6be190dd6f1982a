package quota

import "fmt"

// InFlight counts the requests of one tenant that have no outcome yet, together and by session. Its owner guards it.
type InFlight struct {
	tenant  int // most at once over all sessions
	session int // most at once in one
	total   int
	of      map[string]int // only sessions with a request in flight: bounded by total
}

// NewInFlight returns counters with these limits.
func NewInFlight(tenant, session int) *InFlight {
	return &InFlight{tenant: tenant, session: session, of: map[string]int{}}
}

// Refused says which limit a request met.
type Refused struct {
	Scope string // "session" or "tenant"
	Limit int
}

func (r *Refused) Error() string {
	return fmt.Sprintf("this %s has as many requests in flight as it may, %d", r.Scope, r.Limit)
}

// Admit counts a request in. Its error is a *Refused: the session's own limit before the tenant's, because the caller can mend that.
func (q *InFlight) Admit(session string) error {
	switch {
	case q.of[session] >= q.session:
		return &Refused{"session", q.session}
	case q.total >= q.tenant:
		return &Refused{"tenant", q.tenant}
	}
	q.Restore(session)
	return nil
}

// Restore counts in a request that was admitted before, whatever the limits are by now.
func (q *InFlight) Restore(session string) {
	q.of[session]++
	q.total++
}

// Release counts out one request of a session. It panics when the session has none: the owner's books are wrong then.
func (q *InFlight) Release(session string) {
	n := q.of[session]
	if n == 0 {
		panic("quota: a request was released that is not in flight")
	}
	q.total--
	if n == 1 {
		delete(q.of, session)
		return
	}
	q.of[session] = n - 1
}

// Total returns how many requests are in flight.
func (q *InFlight) Total() int { return q.total }

// Session returns how many requests of one session are in flight.
func (q *InFlight) Session(session string) int { return q.of[session] }
