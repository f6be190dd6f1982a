// Package elicitation remembers which elicitations were put to whom, so that the news of their
// completion reaches nobody else (2025-11-25 §client/elicitation, "Completion Notifications for URL
// Mode Elicitation"). It knows no session and no clock.
package elicitation

import "slices"

// Bounds of one Table. A client that makes its server mint ids displaces its own first.
const (
	MaxOwned = 64   // elicitations of one owner
	MaxAll   = 1024 // elicitations of all owners
	MaxID    = 256  // bytes of an id; a longer one is not remembered
)

// Asked is who was given an elicitation: the owner's name, and how to reach it.
type Asked[T any] struct {
	Owner string
	To    T
}

// Table remembers elicitations by id. The zero Table is empty and ready.
type Table[T any] struct {
	rows []row[T] // oldest first
}

type row[T any] struct {
	id string
	Asked[T]
}

// Add notes that owner was given the elicitation id. A server may give one id to several owners.
// At a bound the oldest elicitation goes: of this owner, or of the owner that has most.
func (t *Table[T]) Add(id, owner string, to T) {
	if id == "" || len(id) > MaxID {
		return
	}
	t.drop(func(r row[T]) bool { return r.id == id && r.Owner == owner })
	owned := 0
	for _, r := range t.rows {
		if r.Owner == owner {
			owned++
		}
	}
	switch {
	case owned >= MaxOwned:
		t.dropOldest(owner)
	case len(t.rows) >= MaxAll:
		t.dropOldest(t.greatest())
	}
	t.rows = append(t.rows, row[T]{id, Asked[T]{owner, to}})
}

// Take returns everybody who was given the elicitation, and forgets it: it is complete once.
func (t *Table[T]) Take(id string) (asked []Asked[T]) {
	t.drop(func(r row[T]) bool {
		if r.id == id {
			asked = append(asked, r.Asked)
		}
		return r.id == id
	})
	return asked
}

// Forget drops all elicitations of an owner that is gone.
func (t *Table[T]) Forget(owner string) {
	t.drop(func(r row[T]) bool { return r.Owner == owner })
}

// Len is how many elicitations are remembered.
func (t *Table[T]) Len() int { return len(t.rows) }

// greatest is the owner that has most elicitations; the oldest row decides between equals.
func (t *Table[T]) greatest() (owner string) {
	owned := map[string]int{}
	for _, r := range t.rows {
		owned[r.Owner]++
	}
	for _, r := range t.rows {
		if owned[r.Owner] > owned[owner] {
			owner = r.Owner
		}
	}
	return owner
}

func (t *Table[T]) drop(which func(row[T]) bool) { t.rows = slices.DeleteFunc(t.rows, which) }

func (t *Table[T]) dropOldest(owner string) {
	if i := slices.IndexFunc(t.rows, func(r row[T]) bool { return r.Owner == owner }); i >= 0 {
		t.rows = slices.Delete(t.rows, i, i+1)
	}
}
