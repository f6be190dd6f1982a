package otp

import "iter"

// chain is a list in order of arrival whose members hold their own places, so that whichever goes is taken out at once, and nothing is kept beside
// them. Most lists of a process have one member or none, for which a map would take 200 bytes.
type chain[T member[T]] struct{ first, last T }

// member can be in one chain of its kind at a time.
type member[T any] interface {
	comparable
	seat() *place[T]
}

// place is where a member is; the zero place is outside.
type place[T any] struct{ prev, next T }

func (p *place[T]) seat() *place[T] { return p }

// has reports whether a member is in this chain, if it is in one.
func (c *chain[T]) has(v T) bool {
	var none T
	return v == c.first || v.seat().prev != none
}

// add puts at the end what is in no chain.
func (c *chain[T]) add(v T) {
	var none T
	if v.seat().prev = c.last; c.last == none {
		c.first = v
	} else {
		c.last.seat().next = v
	}
	c.last = v
}

// drop takes a member out. It may have gone before.
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

// all are the members. Whichever is at hand may be dropped.
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

// take empties the chain of its members, which are in none then.
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
