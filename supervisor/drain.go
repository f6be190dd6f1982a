package supervisor

import (
	"time"

	"mcpd/protocol"
)

// stage is how much a host that was told to stop still takes.
type stage uint8

const (
	stageOpen   stage = iota // everything
	stageFinish              // no new sessions
	stageRefuse              // no new calls either, only what lets those in flight end
	stageAnswer              // nothing: what is still in flight is answered
)

// drain is the end of a host: when it began, and how long it may take. A nil *drain has not begun.
type drain struct {
	begun  time.Time
	budget time.Duration
	// hands says that the listening socket stays open for the next host: whoever connects waits for
	// it, and nobody is refused.
	hands bool
}

const (
	// reading is how long before the end of the drain the requests that still wait are answered, so
	// that their clients have the time to read it. It is a sixth of a short drain.
	reading = 3 * second
	// settle is how long no message may have come, and none be in flight, before a drain ends early.
	// A client that makes one call after the other is served for as long as the drain allows.
	settle = 500 * time.Millisecond
	// farewell is how long every answer says that its connection ends before connections are closed.
	// A request that crosses with the end of its connection looks to its client like one that was
	// begun.
	farewell = 200 * time.Millisecond
	// comeBack is what refused clients are told to wait: about as long as a restart takes.
	comeBack = 2 * second
)

// reading is that of this drain.
func (d *drain) reading() time.Duration { return min(reading, d.budget/6) }

// until is when a stage of the drain begins.
func (d *drain) until(s stage) time.Time {
	switch s {
	case stageRefuse:
		return d.begun.Add(d.budget * 2 / 3)
	case stageAnswer:
		return d.begun.Add(d.budget - d.reading())
	}
	return d.begun
}

// stage is that of a moment.
func (d *drain) stage(now time.Time) stage {
	switch {
	case d == nil:
		return stageOpen
	case !now.Before(d.until(stageAnswer)):
		return stageAnswer
	case !now.Before(d.until(stageRefuse)):
		return stageRefuse
	}
	return stageFinish
}

// look decides how far the drain is. Idle is how long no message has come and none was in flight,
// 0 while there is one. Parting says that each answer ends its connection, and over that the
// listener closes.
func (d *drain) look(now time.Time, idle time.Duration) (parting, over bool) {
	settle, farewell := min(settle, d.budget/10), min(farewell, d.budget/20)
	switch s := d.stage(now); {
	case s < stageAnswer && d.hands:
		return true, idle > 0 && now.Sub(d.begun) >= farewell
	case s == stageFinish:
		parted := now.Sub(d.begun) >= farewell
		return idle >= settle-farewell, idle >= settle && parted
	case s == stageRefuse:
		told := now.Sub(d.until(stageRefuse)) >= farewell
		return true, idle > 0 && told
	}
	return true, true
}

// accepts decides whether connections are accepted. Those for the next host are not, but while a
// client of this one is awaited, who may come over a new connection.
func (d *drain) accepts(now time.Time, awaited bool) bool {
	return !d.hands || awaited && d.stage(now) < stageRefuse
}

// closing is why no session is opened any more: the host was told to stop. Nil while it was not.
func (h *host) closing() *protocol.Error { return h.refusal(stageFinish) }

// ending is why no call is taken any more.
func (h *host) ending() *protocol.Error { return h.refusal(stageRefuse) }

// refusal is the error of what a host does not take from a stage of its drain on.
func (h *host) refusal(from stage) *protocol.Error {
	d := h.drain.Load()
	if d != nil && d.hands {
		from = stageAnswer
	}
	if d.stage(h.awake.Now()) < from {
		return nil
	}
	e := protocol.Stopping("", false)
	e.RetryAfter = comeBack
	return e
}
