package client

import (
	"context"
	"sync/atomic"
	"time"

	"mcpd/gateway/quota"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// Unsolicited messages of a server are rate-limited when they are read. A server that sends more
// waits, as for any slow reader. Otherwise a flood would take all cores, and the Go runtime then
// looks only every 10 ms for what others have sent to the host. Progress notifications have a
// higher rate: each concerns one call, and most are superseded before they are passed on.
const (
	// UnsolicitedRate is how many notifications, questions and unexpected answers of one connection
	// are read in a second.
	UnsolicitedRate = 5000
	// UnsolicitedBurst is how many of them beyond UnsolicitedRate are read at once.
	UnsolicitedBurst = 1000
	// ProgressReadRate is how many progress notifications of one connection are read in a second.
	ProgressReadRate = 4 * UnsolicitedRate
)

const (
	// readerPause is how long the reader rests when it has read enough, so that others have their
	// turn.
	readerPause = 10 * time.Millisecond
	// reportHeldAfter is the total time for which a server has waited when that is reported: a shorter
	// wait needs no attention.
	reportHeldAfter = time.Second
)

var (
	unsolicitedLimit  = quota.Rate{Every: time.Second / UnsolicitedRate, Burst: UnsolicitedBurst}
	progressReadLimit = quota.Rate{Every: time.Second / ProgressReadRate, Burst: 4 * UnsolicitedBurst}
)

// readLimiter is what was read of a server lately, for the rate limits.
type readLimiter struct {
	any, progress quota.Bucket
	asked         *atomic.Int64 // requests that were sent and have no answer yet
	held          time.Duration // how long the server has waited since that was last reported
}

// take returns how long to wait before a message is passed on; 0 means that the message counts as
// read.
func (r *readLimiter) take(m jsonrpc.Message, now time.Time) time.Duration {
	switch {
	case m.Method == "notifications/progress":
		return r.progress.Take(now, progressReadLimit)
	case m.Method != "":
	case r.asked.Add(-1) >= 0:
		return 0
	default: // there are more answers than there were requests
		r.asked.Add(1)
	}
	return r.any.Take(now, unsolicitedLimit)
}

// throttle waits until a message may be passed on. Reports of the transport itself may at once.
func (c *Connection) throttle(ctx context.Context, r *readLimiter, in transport.Inbound) error {
	if in.Control != nil {
		return nil
	}
	for {
		wait := r.take(in.Message, c.p.Now())
		if wait == 0 {
			return nil
		}
		wait = max(wait, readerPause)
		if err := c.p.Sleep(ctx, wait); err != nil {
			return err
		}
		if r.held += wait; r.held >= reportHeldAfter {
			_ = c.p.Post(readThrottled{r.held})
			r.held = 0
		}
	}
}
