package reconnect

import (
	"time"

	"mcpd/protocol/jsonrpc"
)

// answer takes an answer of the host.
func (l *Link) answer(m jsonrpc.Message) {
	switch m.ID {
	case probeID:
		if l.away {
			l.back()
		}
		return
	case greetID:
		l.greeted(m)
		return
	}
	r := l.find(m.ID)
	if r == nil {
		l.restored(m)
		return
	}
	l.attempts, l.cuts, l.refusal = 0, 0, ""
	if r.acked && m.Error == nil && !l.gone { // the host ends it, as one that stops does
		r.held, r.again = true, l.now.Add(listenAgain)
		return
	}
	if m.Error == nil {
		l.learn(r, m)
	}
	l.finish(r, m)
	if l.away && (l.modern || l.session || !l.opened) {
		l.back()
	}
}

// failed takes the failure of a request.
func (l *Link) failed(e Event) {
	there := e.Cause == Refused || e.Cause == Later
	switch e.ID {
	case probeID, greetID:
		switch {
		case !l.probing || e.Cause == SessionLost: // Cut follows
		case there && e.ID == probeID: // other requests hear the same
			l.back()
		case there:
			l.refused(e)
		default:
			l.lost(e.Why, e.After)
		}
		return
	}
	r := l.find(e.ID)
	if r == nil {
		l.restored(jsonrpc.Failure(e.ID, e.Err))
		return
	}
	if there {
		l.finish(r, jsonrpc.Failure(r.id, e.Err))
		if e.Cause == Refused && e.Why != l.refusal {
			l.refusal = e.Why
			l.say(e.Why)
		}
		if !l.opened && !l.modern {
			l.back()
		}
		return
	}
	l.why = e.Why
	if e.Written && e.Cause == Broken && !r.harmless() {
		l.fail(r, true)
	} else {
		l.hold(r, e.Written)
	}
	switch {
	case e.Cause == SessionLost:
		l.away, l.session = true, false
	case e.Cause == Broken && !l.away && (l.opened || l.modern):
		l.away, l.attempts = true, 0
		l.attempt()
	case !l.probing || !l.opened && !l.modern:
		if !l.away && e.Cause == Unreached {
			l.attempts = 0
		}
		l.lost(e.Why, e.After)
	}
}

// cut takes the end of the connection. Requests that were sent on it may have been executed.
func (l *Link) cut(e Event) {
	l.away, l.session, l.probing, l.why, l.owed = true, false, false, e.Why, nil
	l.recall(func(question) bool { return true })
	l.replay = replay{}
	for _, r := range l.all() {
		switch {
		case r.held:
		case r.acked || r.harmless():
			l.hold(r, true)
		default:
			l.fail(r, true)
		}
	}
	l.do(Effect{Do: Connect})
	if l.modern {
		l.do(Effect{Do: Agree, Version: l.version})
	}
	l.leave()
	if l.cuts++; l.cuts <= maxCuts {
		l.attempt()
		return
	}
	l.attempts = max(l.attempts, l.cuts)
	l.next = l.now.Add(l.pause())
}

// lost notes that no host was found, and when to look for it again.
func (l *Link) lost(why string, after time.Duration) {
	l.away, l.probing, l.why = true, false, why
	if !l.confirmed {
		l.confirmed = true
		l.say(why + "; requests wait for it, up to " + Wait.String())
	}
	l.recall(func(question) bool { return true })
	l.leave()
	l.next = l.now.Add(max(l.pause(), min(after, maxRetry)))
	if l.held() > 0 {
		l.hurry()
	}
}

// pause is the time to the next attempt.
func (l *Link) pause() time.Duration { return min(firstRetry<<min(l.attempts, 10), maxRetry) }

// hurry has the next attempt made soon, because a request waits for it.
func (l *Link) hurry() {
	soon := l.tried.Add(hurryRetry)
	if soon.Before(l.now) {
		soon = l.now
	}
	if !l.probing && !l.next.IsZero() && soon.Before(l.next) {
		l.next = soon
	}
}

// back notes that the host is there, and goes on.
func (l *Link) back() {
	if l.confirmed {
		l.say("the host is back")
	}
	l.away, l.confirmed, l.probing, l.next, l.why = false, false, false, time.Time{}, ""
	l.resume()
	l.flush()
}
