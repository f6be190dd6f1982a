package client

import (
	"fmt"
	"slices"
	"strings"
)

// maxWaiters bounds the sessions that the tree names as waiting.
const maxWaiters = 3

// waitsFor says for the tree which user is asked here, and whose calls wait for which users. It is
// empty when there is no dialog.
func (c *Connection) waitsFor() string {
	var parts []string
	if d := c.showsAsked; d != nil {
		parts = append(parts, fmt.Sprintf("asks session %s since %s: %s",
			d.session, d.since.UTC().Format("15:04:05"), d.method))
	}
	if len(c.waiting) > 0 {
		parts = append(parts, fmt.Sprintf("calls of sessions %s wait for the users of sessions %s",
			strings.Join(c.waiters(), ", "), sessionsOf(c.dialogs())))
	}
	return strings.Join(parts, "; ")
}

// waiters are some of the sessions whose calls are delayed.
func (c *Connection) waiters() (rows []string) {
	for _, x := range c.queue {
		if _, waits := c.waiting[x.ID]; waits {
			rows = append(rows, x.Session)
		}
	}
	slices.Sort(rows)
	rows = slices.Compact(rows)
	return rows[:min(len(rows), maxWaiters)]
}
