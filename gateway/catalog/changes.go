package catalog

import (
	"slices"
	"time"
)

// Bounds of a burst of changes that is announced once: it is over when nothing has changed for
// ChangesQuiet, and announced after ChangesMost if it goes on.
const (
	ChangesQuiet = 200 * time.Millisecond
	ChangesMost  = 2 * time.Second
)

// Changes gathers changes of one list that is made of many, so that a burst of them is announced
// once. K says which list it is, and to whom. The zero Changes is empty and ready.
type Changes[K comparable] struct{ pending map[K]burst }

// burst is when its first change came, and its last.
type burst struct{ first, last time.Time }

// Note takes note of a change.
func (c *Changes[K]) Note(about K, now time.Time) {
	if c.pending == nil {
		c.pending = map[K]burst{}
	}
	b, ok := c.pending[about]
	if !ok {
		b.first = now
	}
	b.last = now
	c.pending[about] = b
}

// Due takes the changes that are to be announced now, in order, and says how long the next of the
// others has; 0 is for none.
func (c *Changes[K]) Due(now time.Time, compare func(a, b K) int) (due []K, wait time.Duration) {
	for about, b := range c.pending {
		left := min(b.first.Add(ChangesMost).Sub(now), b.last.Add(ChangesQuiet).Sub(now))
		switch {
		case left <= 0:
			due = append(due, about)
		case wait == 0 || left < wait:
			wait = left
		}
	}
	slices.SortFunc(due, compare)
	for _, about := range due {
		delete(c.pending, about)
	}
	return due, wait
}
