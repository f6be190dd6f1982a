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
	l.accepted()
	if r.acked && m.Error == nil && !l.gone && r.size > 0 { // the host ends it, as one that stops does
		r.held, r.again = true, l.now.Add(listenAgain)
		return
	}
	if m.Error == nil {
		l.learn(r, m)
	}
	l.finish(r, m)
	found := !l.stopping || r.method == "initialize" // one that is stopping answers what it has taken
	if l.away && found && (l.modern || l.session || !l.opened) {
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
			l.lost(e)
		}
		return
	}
	r := l.find(e.ID)
	if r == nil {
		l.unrestored(e)
		return
	}
	if there {
		l.accepted()
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
	l.missing(e)
}

// missing looks for the host after it did not answer a request.
func (l *Link) missing(e Event) {
	switch {
	case e.Cause == SessionLost: // Cut follows
		l.away, l.session = true, false
	case e.Cause == Broken && !l.away && (l.opened || l.modern):
		l.away, l.attempts = true, 0
		l.attempt()
	case !l.probing || !l.opened && !l.modern:
		if !l.away && e.Cause == Unreached {
			l.attempts = 0
		}
		l.lost(e)
	}
}

// cut takes the end of the connection. Requests that were sent on it may have been executed.
func (l *Link) cut(e Event) {
	l.away, l.session, l.probing, l.why, l.owed = true, false, false, e.Why, nil
	l.stopping = false
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

// lost notes that no host was found, and when to look for it again. A host that is stopping still
// serves the requests that it has and takes answers to its questions, so these stay.
func (l *Link) lost(e Event) {
	l.away, l.probing, l.why, l.stopping = true, false, e.Why, e.Cause == Stopping
	if !l.confirmed {
		l.confirmed = true
		l.say(e.Why + "; requests wait for it, up to " + Wait.String())
	}
	if !l.stopping {
		l.recall(func(question) bool { return true })
	}
	l.leave()
	l.next = l.now.Add(max(l.pause(), min(e.After, maxRetry)))
	if l.held() > 0 {
		l.hurry()
	}
}

// pause is the time to the next attempt.
func (l *Link) pause() time.Duration { return min(firstRetry<<min(l.attempts, 10), maxRetry) }

// hurry has the next attempt made soon, because a request waits for it. A host that is stopping has
// said itself when to try again.
func (l *Link) hurry() {
	soon := l.tried.Add(hurryRetry)
	if soon.Before(l.now) {
		soon = l.now
	}
	if !l.probing && !l.stopping && !l.next.IsZero() && soon.Before(l.next) {
		l.next = soon
	}
}

// back notes that the host is there, and goes on. A host that was stopping answers pings too, so
// the log hears that it is back when it takes one of the requests that wait for it.
func (l *Link) back() {
	quiet := l.stopping && (l.held() > 0 || l.replay.level || len(l.replay.uris) > 0)
	l.away, l.stopping, l.probing, l.next, l.why = false, false, false, time.Time{}, ""
	if !quiet {
		l.accepted()
	}
	l.resume()
	l.flush()
}

// accepted tells the log once that the host takes requests again.
func (l *Link) accepted() {
	if l.confirmed && !l.away {
		l.confirmed = false
		l.say("the host is back")
	}
}
