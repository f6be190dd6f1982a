package catalog

import (
	"maps"
	"slices"
	"time"

	"mcpd/internal/sortedmap"
)

// Bounds of a burst of changes that is announced once. A burst is over when nothing has changed
// for ChangesQuiet. A longer burst is announced after ChangesMost.
const (
	ChangesQuiet = 200 * time.Millisecond
	ChangesMost  = 2 * time.Second
)

// Changes debounces the changes of merged lists, so that a burst of changes is announced once. K
// identifies whom a change concerns. Changes of one list with different K form one burst, because
// both may concern the same client. The zero Changes is empty and ready to use.
type Changes[K comparable] struct{ pending map[string]pendingBurst[K] }

// pendingBurst are the changes of one list: the times of the first and the last, and whom they
// concern.
type pendingBurst[K comparable] struct {
	first, last time.Time
	of          map[K]bool
}

// Burst is the changes of one list that are announced together.
type Burst[K comparable] struct {
	List string
	Of   []K
}

// Note records a change of a list.
func (c *Changes[K]) Note(list string, of K, now time.Time) {
	if c.pending == nil {
		c.pending = map[string]pendingBurst[K]{}
	}
	b := c.pending[list]
	if b.of == nil {
		b = pendingBurst[K]{first: now, of: map[K]bool{}}
	}
	b.last, b.of[of] = now, true
	c.pending[list] = b
}

// Len returns how many different K the unannounced changes of a list concern.
func (c *Changes[K]) Len(list string) int { return len(c.pending[list].of) }

// Due removes and returns the bursts that are to be announced now, in order. Wait is the time
// until the next burst is due; 0 means that there is none.
func (c *Changes[K]) Due(
	now time.Time,
	compare func(a, b K) int,
) (due []Burst[K], wait time.Duration) {
	for list, b := range sortedmap.Sorted(c.pending) {
		remaining := min(b.first.Add(ChangesMost).Sub(now), b.last.Add(ChangesQuiet).Sub(now))
		switch {
		case remaining <= 0:
			due = append(due, Burst[K]{list, slices.SortedFunc(maps.Keys(b.of), compare)})
			delete(c.pending, list)
		case wait == 0 || remaining < wait:
			wait = remaining
		}
	}
	return due, wait
}
