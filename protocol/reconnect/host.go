package reconnect

import (
	"time"

	"mcpd/protocol/jsonrpc"
)

// answer handles an answer of the host.
func (l *Link) answer(m jsonrpc.Message) {
	switch m.ID {
	case probeID:
		if l.away {
			l.hostBack()
		}
		return
	case greetID:
		l.reinitialized(m)
		return
	}
	r := l.find(m.ID)
	if r == nil {
		l.restored(m)
		return
	}
	l.attempts, l.cuts, l.refusal = 0, 0, ""
	l.accepted()
	// The host ends a subscription when it shuts down, so the subscription is opened again.
	if r.confirmed && m.Error == nil && !l.gone && r.size > 0 {
		r.held, r.notBefore = true, l.now.Add(listenAgain)
		return
	}
	if m.Error == nil {
		l.learn(r, m)
	}
	l.finish(r, m)
	// A host that is shutting down still answers the requests that it has accepted.
	found := !l.stopping || r.method == "initialize"
	if l.away && found && (l.modern || l.session || !l.opened) {
		l.hostBack()
	}
}

// failed handles the failure of a request.
func (l *Link) failed(e Event) {
	there := e.Cause == Refused || e.Cause == Later
	switch e.ID {
	case probeID, greetID:
		switch {
		case !l.probing || e.Cause == SessionLost: // Disconnected follows
		case there && e.ID == probeID: // other requests get the same answer
			l.hostBack()
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
			l.hostBack()
		}
		return
	}
	l.reason = e.Why
	if e.Written && e.Cause == Broken && !r.repeatable() {
		l.fail(r, true)
	} else {
		l.hold(r, e.Written)
	}
	l.missing(e)
}

// missing tries to reach the host after a request without an answer.
func (l *Link) missing(e Event) {
	switch {
	case e.Cause == SessionLost: // Disconnected follows
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

// cut handles the end of the connection. The host may have executed the requests that were sent on
// it.
func (l *Link) cut(e Event) {
	l.away, l.session, l.probing, l.reason, l.pendingErrors = true, false, false, e.Why, nil
	l.stopping = false
	l.recall(func(question) bool { return true })
	l.replay = replay{}
	for _, r := range l.all() {
		switch {
		case r.held:
		case r.confirmed || r.repeatable():
			l.hold(r, true)
		default:
			l.fail(r, true)
		}
	}
	l.do(Effect{Do: Connect})
	if l.modern {
		l.do(Effect{Do: Agree, Version: l.version})
	}
	l.failAfterInputClosed()
	if l.cuts++; l.cuts <= maxCuts {
		l.attempt()
		return
	}
	l.attempts = max(l.attempts, l.cuts)
	l.next = l.now.Add(l.pause())
}

// lost records that no host was reached, and schedules the next attempt. A host that is shutting
// down still serves the requests that it has, and accepts answers to its questions, so both stay
// open.
func (l *Link) lost(e Event) {
	l.away, l.probing, l.reason, l.stopping = true, false, e.Why, e.Cause == Stopping
	if !l.confirmed {
		l.confirmed = true
		l.say(e.Why + "; requests wait for it, up to " + Wait.String())
	}
	if !l.stopping {
		l.recall(func(question) bool { return true })
	}
	l.failAfterInputClosed()
	l.next = l.now.Add(max(l.pause(), min(e.After, maxRetry)))
	if l.held() > 0 {
		l.retrySoon()
	}
}

// pause returns the time until the next attempt.
func (l *Link) pause() time.Duration { return min(firstRetry<<min(l.attempts, 10), maxRetry) }

// retrySoon moves the next attempt forward, because a request waits for it. A host that is shutting
// down has named its own time for the next attempt.
func (l *Link) retrySoon() {
	soon := l.tried.Add(hurryRetry)
	if soon.Before(l.now) {
		soon = l.now
	}
	if !l.probing && !l.stopping && !l.next.IsZero() && soon.Before(l.next) {
		l.next = soon
	}
}

// hostBack records that the host is present, and continues. A host that is shutting down also
// answers pings. The log therefore reports its return only when it accepts one of the waiting
// requests.
func (l *Link) hostBack() {
	quiet := l.stopping && (l.held() > 0 || l.replay.level || len(l.replay.uris) > 0)
	l.away, l.stopping, l.probing, l.next, l.reason = false, false, false, time.Time{}, ""
	if !quiet {
		l.accepted()
	}
	l.resume()
	l.flush()
}

// accepted logs once that the host accepts requests again.
func (l *Link) accepted() {
	if l.confirmed && !l.away {
		l.confirmed = false
		l.say("the host is back")
	}
}
