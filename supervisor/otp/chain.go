package otp

import "iter"

// chain is a list in order of arrival. Its members store their own links, so that each member can
// be removed at once and the list needs no other memory. Most lists of a process have at most one
// member, for which a map would take 200 bytes.
type chain[T member[T]] struct{ first, last T }

// member can be in one chain of its kind at a time.
type member[T any] interface {
	comparable
	seat() *place[T]
}

// place holds the links of a member. The zero place is outside of any chain.
type place[T any] struct{ prev, next T }

func (p *place[T]) seat() *place[T] { return p }

// has reports whether v is in this chain. v must be in this chain or in none.
func (c *chain[T]) has(v T) bool {
	var none T
	return v == c.first || v.seat().prev != none
}

// add appends a member that is in no chain.
func (c *chain[T]) add(v T) {
	var none T
	if v.seat().prev = c.last; c.last == none {
		c.first = v
	} else {
		c.last.seat().next = v
	}
	c.last = v
}

// drop removes a member, if it is in the chain.
func (c *chain[T]) drop(v T) {
	if !c.has(v) {
		return
	}
	var none T
	p := v.seat()
	if p.prev == none {
		c.first = p.next
	} else {
		p.prev.seat().next = p.next
	}
	if p.next == none {
		c.last = p.prev
	} else {
		p.next.seat().prev = p.prev
	}
	*p = place[T]{}
}

// all yields the members. The current member may be dropped meanwhile.
func (c *chain[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		var none T
		for v := c.first; v != none; {
			next := v.seat().next
			if !yield(v) {
				return
			}
			v = next
		}
	}
}

// take removes all members from the chain and returns them.
func (c *chain[T]) take() (all []T) {
	for v := range c.all() {
		all = append(all, v)
		*v.seat() = place[T]{}
	}
	*c = chain[T]{}
	return all
}

// len counts the members.
func (c *chain[T]) len() (n int) {
	for range c.all() {
		n++
	}
	return n
}
