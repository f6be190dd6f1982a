package client

import (
	"context"
	"time"

	"mcpd/gateway/quota"
	"mcpd/protocol/jsonrpc"
)

// How fast what a server says unasked is read. One that says more waits, as for any slow reader: what it floods its tenant with would
// else take all cores, and then the runtime looks only every 10 ms for who has written to the host. Progress is of one call each, and the most of it is
// superseded before it is passed on.
const (
	NewsRate         = 5000 // notifications and questions of one connection in a second,
	NewsBurst        = 1000 // beyond so many at once
	ProgressReadRate = 4 * NewsRate
)

// newsRest is how long the reader rests when it has read enough: long enough for others to have their turn.
const newsRest = 10 * time.Millisecond

var (
	newsPace     = quota.Rate{Every: time.Second / NewsRate, Burst: NewsBurst}
	progressPace = quota.Rate{Every: time.Second / ProgressReadRate, Burst: 4 * NewsBurst}
)

// news is what was read of it lately.
type news struct{ any, progress quota.Bucket }

// take is how long to wait before a message is passed on; 0 means that it counts as read.
func (n *news) take(m jsonrpc.Message, now time.Time) time.Duration {
	switch {
	case m.Method == "": // an answer
		return 0
	case m.Method == "notifications/progress":
		return n.progress.Take(now, progressPace)
	}
	return n.any.Take(now, newsPace)
}

// rest waits until a message may be passed on.
func (c *Connection) rest(ctx context.Context, n *news, m jsonrpc.Message) error {
	for {
		wait := n.take(m, c.p.Now())
		if wait == 0 {
			return nil
		}
		if err := c.p.Sleep(ctx, max(wait, newsRest)); err != nil {
			return err
		}
	}
}
