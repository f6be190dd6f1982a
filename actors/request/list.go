package request

import (
	"cmp"
	"slices"
	"sync"
)

// Kind is the kind of a list. An exchange is in at most one list of each kind.
type Kind uint8

// The lists.
const (
	SessionList    Kind = iota // the exchanges that a client waits for
	ConnectionList             // the exchanges that a server may be executing
	lists
)

// List is a set of exchanges of a table. It needs no memory besides the exchanges, and is safe for
// concurrent use. The zero List is empty, ready, and of kind SessionList.
type List struct {
	Of Kind

	mu    sync.Mutex // guards what follows, and the links of each exchange in it
	first *Exchange  // the newest
	n     int
}

// links is the place of an exchange in its list.
type links struct {
	in         *List
	prev, next *Exchange
}

// Add puts an exchange into the list, unless it is there. It must be in no other list of this kind.
func (l *List) Add(x *Exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x.links[l.Of].in == l {
		return
	}
	x.links[l.Of] = links{in: l, next: l.first}
	if l.first != nil {
		l.first.links[l.Of].prev = x
	}
	l.first = x
	l.n++
}

// Remove takes an exchange out of the list, and reports whether it was in it.
func (l *List) Remove(x *Exchange) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := &x.links[l.Of]
	if at.in != l {
		return false
	}
	if at.prev != nil {
		at.prev.links[l.Of].next = at.next
	} else {
		l.first = at.next
	}
	if at.next != nil {
		at.next.links[l.Of].prev = at.prev
	}
	*at = links{}
	l.n--
	return true
}

// Has reports whether an exchange is in the list.
func (l *List) Has(x *Exchange) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return x.links[l.Of].in == l
}

// All returns the exchanges in the list, oldest first.
func (l *List) All() []*Exchange { return l.Filter(all) }

// Len returns the number of exchanges.
func (l *List) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

// Find returns an exchange for which such is true, nil for none.
func (l *List) Find(match func(*Exchange) bool) *Exchange {
	l.mu.Lock()
	defer l.mu.Unlock()
	for x := l.first; x != nil; x = x.links[l.Of].next {
		if match(x) {
			return x
		}
	}
	return nil
}

// Filter returns the exchanges for which such is true, oldest first.
func (l *List) Filter(match func(*Exchange) bool) (list []*Exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for x := l.first; x != nil; x = x.links[l.Of].next {
		if match(x) {
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b *Exchange) int { return cmp.Compare(a.ID, b.ID) })
	return list
}
