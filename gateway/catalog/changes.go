package catalog

import (
	"maps"
	"slices"
	"time"

	"mcpd/internal/order"
)

// Bounds of a burst of changes that is announced once: it is over when nothing has changed for
// ChangesQuiet, and announced after ChangesMost if it goes on.
const (
	ChangesQuiet = 200 * time.Millisecond
	ChangesMost  = 2 * time.Second
)

// Changes gathers the changes of lists that are each made of many, so that a burst of them is
// announced once. K says whom a change concerns. What concerns some and what concerns others is one
// burst, because there may be someone whom both concern. The zero Changes is empty and ready.
type Changes[K comparable] struct{ pending map[string]gathered[K] }

// gathered is the changes of one list: when its first came and its last, and whom they concern.
type gathered[K comparable] struct {
	first, last time.Time
	of          map[K]bool
}

// Burst is the changes of one list that are announced together.
type Burst[K comparable] struct {
	List string
	Of   []K
}

// Note takes note of a change.
func (c *Changes[K]) Note(list string, of K, now time.Time) {
	if c.pending == nil {
		c.pending = map[string]gathered[K]{}
	}
	b := c.pending[list]
	if b.of == nil {
		b = gathered[K]{first: now, of: map[K]bool{}}
	}
	b.last, b.of[of] = now, true
	c.pending[list] = b
}

// Len is how many a change of a list concerns that is not announced yet.
func (c *Changes[K]) Len(list string) int { return len(c.pending[list].of) }

// Due takes the changes that are to be announced now, in order, and says how long the next of the
// others has; 0 is for none.
func (c *Changes[K]) Due(
	now time.Time,
	compare func(a, b K) int,
) (due []Burst[K], wait time.Duration) {
	for list, b := range order.Of(c.pending) {
		left := min(b.first.Add(ChangesMost).Sub(now), b.last.Add(ChangesQuiet).Sub(now))
		switch {
		case left <= 0:
			due = append(due, Burst[K]{list, slices.SortedFunc(maps.Keys(b.of), compare)})
			delete(c.pending, list)
		case wait == 0 || left < wait:
			wait = left
		}
	}
	return due, wait
}
