package client

import (
	"context"
	"sync/atomic"
	"time"

	"mcpd/gateway/quota"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// How fast what a server says unasked is read. One that says more waits, as for any slow reader: what it floods its tenant with would
// else take all cores, and then the runtime looks only every 10 ms for who has written to the host. Progress is of one call each, and the most of it is
// superseded before it is passed on.
const (
	NewsRate         = 5000 // notifications, questions and answers to nothing, of one connection in a second,
	NewsBurst        = 1000 // beyond so many at once
	ProgressReadRate = 4 * NewsRate
)

const (
	// newsRest is how long the reader rests when it has read enough: long enough for others to have their turn.
	newsRest = 10 * time.Millisecond
	// heldTold is how long a server has waited in all when that is told: what is over sooner nobody needs to look at.
	heldTold = time.Second
)

var (
	newsPace     = quota.Rate{Every: time.Second / NewsRate, Burst: NewsBurst}
	progressPace = quota.Rate{Every: time.Second / ProgressReadRate, Burst: 4 * NewsBurst}
)

// reading is what was read of it lately.
type reading struct {
	any, progress quota.Bucket
	asked         *atomic.Int64 // requests that were sent and have no answer yet
	held          time.Duration // how long its server waited, of which nothing is told yet
}

// take is how long to wait before a message is passed on; 0 means that it counts as read.
func (r *reading) take(m jsonrpc.Message, now time.Time) time.Duration {
	switch {
	case m.Method == "notifications/progress":
		return r.progress.Take(now, progressPace)
	case m.Method != "":
	case r.asked.Add(-1) >= 0:
		return 0
	default: // there are more answers than there were requests
		r.asked.Add(1)
	}
	return r.any.Take(now, newsPace)
}

// rest waits until a message may be passed on. What the transport says of itself may at once.
func (c *Connection) rest(ctx context.Context, r *reading, in transport.Inbound) error {
	if in.Control != nil {
		return nil
	}
	for {
		wait := r.take(in.Message, c.p.Now())
		if wait == 0 {
			return nil
		}
		wait = max(wait, newsRest)
		if err := c.p.Sleep(ctx, wait); err != nil {
			return err
		}
		if r.held += wait; r.held >= heldTold {
			_ = c.p.Post(heldUp{r.held})
			r.held = 0
		}
	}
}
