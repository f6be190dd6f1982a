package supervisor

import "time"

const (
	// minConnectionAge bounds how long a drain waits for requests on connections that have none, and
	// for the ends of streams. A client that connects and sends nothing must not prolong a drain.
	minConnectionAge = second
	// quietTime is how long a connection has had no request before the drain ends it. A client with a
	// more recent request is likely to send another one now, whose answer can end the connection.
	quietTime = quietBeforeEnd
	// noticeTime is how long a client has to notice that one of its idle connections was closed.
	noticeTime = partingNotice / 2
)

// closeQuiet closes the quiet connections before answers end the others. When a client's connection
// ends, the client uses another idle one for its next request.
func (l *listener) closeQuiet() {
	l.connections.Retire(quietTime, retryAfter, false)
	pause(min(noticeTime, l.budget/40))
}

// retire returns when every client knows that its connection ends, at the latest after
// minConnectionAge or a third of the rest of the drain, whichever is shorter. Server.Shutdown
// closes connections between two requests, whatever arrives on them, and answers no request that it
// reads afterwards. Streams end here once nothing is in flight. Their responses cannot say that the
// connection ends, so clients use it again.
func (l *listener) retire(remaining time.Duration, stage stage) {
	const look = minConnectionAge / 50
	ended := false
	for range min(minConnectionAge, remaining/3) / look {
		if !ended && l.idle() > 0 {
			l.endStreams()
			ended = true
			pause(look)
		}
		idle, open := l.connections.Retire(quietTime, retryAfter, false)
		// In stageAnswer, open requests are answered afterwards.
		if idle == 0 && (open == 0 || stage == stageAnswer) {
			return
		}
		pause(look)
	}
	l.connections.Retire(quietTime, retryAfter, true)
}
