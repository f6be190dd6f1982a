package otp

import (
	"time"

	"mcpd/internal/clock"
)

// Status is what a row is doing.
type Status uint32

// Statuses.
const (
	Stopped    Status = iota // nothing runs: it ended and is not restarted, or has not been started
	Starting                 // its Init runs, or those of its children
	Running                  // it takes messages
	Restarting               // it ended and is being started again
	Stopping                 // it was told to stop
	Paused                   // it ended too often and is started again after a pause; see Backoff
	Forsaken                 // it was abandoned: what ran did not stop, and nothing was started in its place
)

func (s Status) String() string {
	return name(uint8(s), "stopped", "starting", "running", "restarting", "stopping", "paused", "abandoned")
}

// Node is one row of a snapshot and everything below it.
type Node struct {
	ID          string
	Path        string
	Label       string
	Type        Type
	Strategy    Strategy // of supervisors
	Restart     Restart
	Status      Status
	Restarts    uint32    // of this row, since it was added; they survive restarts of its supervisor
	Since       time.Time // when the status became what it is
	Incarnation uint64
	Mailbox     int // messages waiting
	Holds       Holdings
	// Stuck: it is at one message for longer than its Soft. Unstable: it was paused because it ended too
	// often, and has not run for as long as its supervisor's Backoff asks for (Stable).
	Stuck, Unstable bool
	Hung            int // instances that were fenced off here or below and have not come back: goroutines that nobody can end
	Extra           any // what SetStatus published last
	Children        []Node
}

// Walk calls f for the node and everything below it, parents first, until f returns false.
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

// snapshot reads the row and those below it. Each row is locked for as long as it takes to copy its list of children;
// no actor is asked, so that it works while everything is stuck.
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
		Since:       clock.Hour(r.sys.clock.Now(), r.since.Load()),
		Incarnation: r.inc.Load(),
	}
	n.Holds = r.holdings()
	n.Hung = int(r.hung.Load())
	n.Stuck, n.Unstable = r.stuck.Load(), clock.Steady(r.sys.clock.Now()) < r.unstable.Load()
	if g := r.proc.Load(); g != nil {
		n.Mailbox = g.box.UserMessageCount()
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
