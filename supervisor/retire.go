package supervisor

import "time"

const (
	// newcomerTime bounds how long a drain waits for requests on connections that have none, and for
	// the ends of streams. A client that connects and says nothing must not prolong a drain.
	newcomerTime = second
	// quietTime is how long a connection has had no request before the drain ends it. A client that
	// has sent the last request later is likely to send one now, whose answer ends the connection.
	quietTime = settle
	// noticeTime is how long a client has to notice that a connection was closed which it does not
	// use.
	noticeTime = farewell / 2
)

// purge closes the connections that are quiet before answers end the others: a client whose
// connection ends takes another for its next request, one that it has kept from before.
func (l *listener) purge() {
	l.connections.Retire(quietTime, comeBack, false)
	pause(min(noticeTime, l.budget/40))
}

// retire returns when every client knows that its connection ends, or newcomerTime and a third of
// what is left of the drain are over. Server.Shutdown closes connections between two requests
// whatever arrives on them, and answers none that it reads afterwards. Streams end here once
// nothing is in flight: their responses could not say that the connection ends, so clients use it
// again.
func (l *listener) retire(left time.Duration, stage stage) {
	const look = newcomerTime / 50
	ended := false
	for range min(newcomerTime, left/3) / look {
		if !ended && l.idle() > 0 {
			l.ends()
			ended = true
			pause(look)
		}
		idle, open := l.connections.Retire(quietTime, comeBack, false)
		if idle == 0 && (open == 0 || stage == stageAnswer) { // then what is open is answered afterwards
			return
		}
		pause(look)
	}
	l.connections.Retire(quietTime, comeBack, true)
}
