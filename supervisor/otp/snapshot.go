package otp

import (
	"time"

	"mcpd/internal/clock"
)

// Status is what a row is doing.
type Status uint32

// Statuses.
const (
	Stopped    Status = iota // nothing runs: it ended and is not restarted, or was never started
	Starting                 // its Init runs, or the Init of one of its children
	Running                  // it takes messages
	Restarting               // it ended and is being started again
	Stopping                 // it was told to stop
	Paused                   // it ended too often; it is started again after a pause, see Backoff
	// StatusAbandoned means abandoned: the child did not stop, and nothing was started in its place.
	StatusAbandoned
)

func (s Status) String() string {
	return name(uint8(s), "stopped", "starting", "running", "restarting", "stopping", "paused",
		"abandoned")
}

// Node is one row of a snapshot and everything below it.
type Node struct {
	ID       string
	Path     string
	Label    string
	Type     Type
	Strategy Strategy // of supervisors
	Restart  Restart
	Status   Status
	// Restarts counts the restarts of this row since it was added. The count survives restarts of the
	// supervisor.
	Restarts    uint32
	Since       time.Time // time of the last change of Status
	Incarnation uint64
	Mailbox     int // messages that wait
	Holds       Holdings
	// Stuck says that the row is at one message for longer than its Child.SoftTimeout. Unstable says
	// that it was paused because it ended too often, and has not yet run for Backoff.Stable.
	Stuck, Unstable bool
	// Isolated counts isolated processes here and below whose goroutines have not returned; nothing
	// can end them.
	Isolated int
	Extra    any // the value of the last SetStatus
	Children []Node
}

// Walk calls f for the node and everything below it, parents first, until f returns false. It
// reports whether every call of f returned true.
func (n Node) Walk(f func(Node) bool) bool {
	if !f(n) {
		return false
	}
	for _, c := range n.Children {
		if !c.Walk(f) {
			return false
		}
	}
	return true
}

// snapshot reads the row and the rows below it. It locks each row for as long as it takes to copy
// the list of children, and asks no actor. So it works while every actor is stuck.
func (r *row) snapshot() Node {
	child := r.child()
	n := Node{
		ID:          r.id,
		Path:        r.path,
		Label:       child.Label,
		Type:        child.Start.Type(),
		Strategy:    Strategy(r.strategy.Load()),
		Restart:     child.Restart,
		Status:      Status(r.status.Load()),
		Restarts:    r.restarts.Load(),
		Since:       clock.WallTime(r.sys.clock.Now(), r.since.Load()),
		Incarnation: r.inc.Load(),
	}
	n.Holds = r.holdings()
	n.Isolated = int(r.isolated.Load())
	n.Stuck, n.Unstable = r.stuck.Load(), clock.SteadyNanos(r.sys.clock.Now()) < r.unstable.Load()
	if g := r.proc.Load(); g != nil {
		n.Mailbox = g.mailbox.UserMessageCount()
	}
	if v := r.extra.Load(); v != nil {
		n.Extra = *v
	}
	rows := r.rows()
	if len(rows) > 0 {
		n.Children = make([]Node, len(rows))
		for i, c := range rows {
			n.Children[i] = c.snapshot()
		}
	}
	return n
}
