// Package elicitation records which URL elicitation was sent to which owner, so that the
// notification of its completion reaches nobody else (2025-11-25 §client/elicitation, "Completion
// Notifications for URL Mode Elicitation"). It knows no session and no clock.
package elicitation

import "slices"

// The bounds of one Table. A client that causes many elicitations evicts its own oldest ones first.
const (
	MaxOwned = 64   // elicitations of one owner
	MaxAll   = 1024 // elicitations of all owners
	MaxID    = 256  // bytes of an id; a longer id is not recorded
)

// Recipient is an owner of an elicitation, with the address to notify it.
type Recipient[T any] struct {
	Owner string
	To    T
}

// Table records elicitations by id. The zero Table is empty and ready to use. It is not safe for
// concurrent use.
type Table[T any] struct {
	rows []row[T] // oldest first
}

type row[T any] struct {
	id string
	Recipient[T]
}

// Add records that the elicitation id was sent to owner. Several owners may have the same id. At a
// bound, Add evicts the oldest elicitation of this owner, or of the owner with the most
// elicitations.
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
		t.dropOldest(t.largestOwner())
	}
	t.rows = append(t.rows, row[T]{id, Recipient[T]{owner, to}})
}

// Take returns all owners of the elicitation and removes it, because it completes only once.
func (t *Table[T]) Take(id string) (asked []Recipient[T]) {
	t.drop(func(r row[T]) bool {
		if r.id == id {
			asked = append(asked, r.Recipient)
		}
		return r.id == id
	})
	return asked
}

// Forget removes all elicitations of an owner that is gone.
func (t *Table[T]) Forget(owner string) {
	t.drop(func(r row[T]) bool { return r.Owner == owner })
}

// Len is the number of recorded elicitations.
func (t *Table[T]) Len() int { return len(t.rows) }

// largestOwner returns the owner with the most elicitations. Among equals it is the owner of the
// oldest one.
func (t *Table[T]) largestOwner() (owner string) {
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
