package supervisor

import "time"

const (
	// newcomerTime bounds how long a drain waits for requests on connections that have none. A client
	// that connects and says nothing must not prolong a drain.
	newcomerTime = second
	// quietTime is how long a connection has had no request before the drain closes it. A client that
	// has sent the last request later is likely to send one now, whose answer ends the connection. A
	// request that crosses with the end is lost, and no client can know that it was not executed.
	quietTime = settle
)

// retire returns when every client knows that its connection ends, or newcomerTime and a third of
// what is left of the drain are over. Server.Shutdown closes connections between two requests
// whatever arrives on them, and answers none that it reads afterwards.
func (l *listener) retire(left time.Duration) {
	const look = newcomerTime / 50
	for range min(newcomerTime, left/3) / look {
		if l.connections.Retire(quietTime, false) == 0 {
			return
		}
		pause(look)
	}
	l.connections.Retire(quietTime, true)
}
