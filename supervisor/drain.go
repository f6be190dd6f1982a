package supervisor

import (
	"time"

	"mcpd/protocol"
)

// stage is how much a host that was told to stop still accepts.
type stage uint8

const (
	stageOpen   stage = iota // accepts everything
	stageFinish              // no new sessions
	stageRefuse              // no new calls either, only messages that let in-flight calls end
	stageAnswer              // nothing: calls that are still in flight are answered
)

// drain is the end of a host: when it began, and how long it may take. A nil *drain has not begun.
type drain struct {
	begun  time.Time
	budget time.Duration
	// handsOver says that the listening socket stays open for the next host. Clients that connect wait
	// for that host, and none is refused.
	handsOver bool
}

const (
	// reading is how long before the end of the drain the requests that still wait are answered, so
	// that their clients have time to read the answer. In a short drain it is a sixth of the drain.
	reading = 3 * second
	// quietBeforeEnd is how long no message may have come, and none be in flight, before a drain ends
	// early. A client that makes one call after another is served for as long as the drain allows.
	quietBeforeEnd = 500 * time.Millisecond
	// partingNotice is how long every answer announces that its connection ends, before connections
	// are closed. If a request crosses with the end of its connection, its client must assume that the
	// request was begun.
	partingNotice = 200 * time.Millisecond
	// retryAfter is how long refused clients are told to wait: about as long as a restart takes.
	retryAfter = 2 * second
)

// reading returns the reading time of this drain.
func (d *drain) reading() time.Duration { return min(reading, d.budget/6) }

// stageBegin returns when a stage of the drain begins.
func (d *drain) stageBegin(s stage) time.Time {
	switch s {
	case stageRefuse:
		return d.begun.Add(d.budget * 2 / 3)
	case stageAnswer:
		return d.begun.Add(d.budget - d.reading())
	}
	return d.begun
}

// stage returns the stage at a time.
func (d *drain) stage(now time.Time) stage {
	switch {
	case d == nil:
		return stageOpen
	case !now.Before(d.stageBegin(stageAnswer)):
		return stageAnswer
	case !now.Before(d.stageBegin(stageRefuse)):
		return stageRefuse
	}
	return stageFinish
}

// look decides how far the drain is. idle is how long no message has come and none was in flight, 0
// while one is. parting says that each answer ends its connection. over says that the listener
// closes.
func (d *drain) look(now time.Time, idle time.Duration) (parting, over bool) {
	settle, farewell := min(quietBeforeEnd, d.budget/10), min(partingNotice, d.budget/20)
	switch s := d.stage(now); {
	case s < stageAnswer && d.handsOver:
		return true, idle > 0 && now.Sub(d.begun) >= farewell
	case s == stageFinish:
		parted := now.Sub(d.begun) >= farewell
		return idle >= settle-farewell, idle >= settle && parted
	case s == stageRefuse:
		told := now.Sub(d.stageBegin(stageRefuse)) >= farewell
		return true, idle > 0 && told
	}
	return true, true
}

// accepts decides if this host accepts connections. If there is a next host, they are left to that
// host, except before stageRefuse while this host waits for a client, which may come over a new
// connection.
func (d *drain) accepts(now time.Time, awaited bool) bool {
	return !d.handsOver || awaited && d.stage(now) < stageRefuse
}

// refuseSession returns why no session is opened any more: the host was told to stop. It returns
// nil before that.
func (h *host) refuseSession() *protocol.Error { return h.refusal(stageFinish) }

// refuseCall returns why no call is accepted any more, nil while calls are.
func (h *host) refuseCall() *protocol.Error { return h.refusal(stageRefuse) }

// refusal returns the error for what a host refuses from this stage of its drain on, nil before
// that stage. A host that leaves its sockets to the next host refuses nothing before stageAnswer.
func (h *host) refusal(from stage) *protocol.Error {
	d := h.drain.Load()
	if d != nil && d.handsOver {
		from = stageAnswer
	}
	if d.stage(h.awake.Now()) < from {
		return nil
	}
	e := protocol.Stopping("", false)
	e.RetryAfter = retryAfter
	return e
}
