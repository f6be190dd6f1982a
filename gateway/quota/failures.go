package quota

import (
	"container/list"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// PerMinute is the rate of so many a minute, all of them at once if they come so. A bound of failed authentications spares the log and the
// processor; a key of 256 bits needs no protection from guessing.
func PerMinute(n int) Rate { return Rate{Every: time.Minute / time.Duration(n), Burst: n} }

// MaxAddresses bounds how many addresses are remembered, about 2 MiB. Beyond it the one whose last failure is oldest is forgotten.
const MaxAddresses = 16384

// Failures remembers which addresses failed to authenticate lately. It is safe for concurrent use: whoever fails is
// asked about, and while nobody has failed lately the answer costs one atomic load.
type Failures struct {
	size atomic.Int64 // len(entries), readable without the lock

	mu      sync.Mutex // guards the fields below
	entries map[netip.Prefix]*list.Element
	recent  list.List // of *failure, the latest in front
}

type failure struct {
	from   netip.Prefix
	bucket Bucket
}

// NewFailures returns an empty memory.
func NewFailures() *Failures {
	return &Failures{entries: map[netip.Prefix]*list.Element{}}
}

// Wait returns how long the address is to wait before its next failure is looked at as one; 0 means that it need not.
func (f *Failures) Wait(now time.Time, from netip.Addr, r Rate) time.Duration {
	if f.size.Load() == 0 {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.entries[Network(from)]
	if !ok {
		return 0
	}
	return e.Value.(*failure).bucket.Wait(now, r)
}

// Failed counts a failure of the address.
func (f *Failures) Failed(now time.Time, from netip.Addr, r Rate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := Network(from)
	e, ok := f.entries[at]
	if ok {
		f.recent.MoveToFront(e)
	} else {
		e = f.recent.PushFront(&failure{from: at})
		f.entries[at] = e
	}
	e.Value.(*failure).bucket.Take(now, r)
	for last := f.recent.Back(); len(f.entries) > MaxAddresses || last.Value.(*failure).bucket.Full(now); last = f.recent.Back() {
		f.recent.Remove(last)
		delete(f.entries, last.Value.(*failure).from)
	}
	f.size.Store(int64(len(f.entries)))
}

// Network is what one caller can be expected to hold: an IPv4 address, or a /64 of IPv6, whose addresses cost nothing.
func Network(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	p, _ := addr.Prefix(bits) // an invalid address gives the zero prefix: all such callers are one
	return p
}
