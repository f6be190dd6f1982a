package quota

import (
	"container/list"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// PerMinute is the rate of n a minute, with a burst of n. A bound on failed authentications
// protects the log and the processor. A key of 256 bits needs no protection from guessing.
func PerMinute(n int) Rate { return Rate{Every: time.Minute / time.Duration(n), Burst: n} }

// MaxAddresses bounds the number of remembered addresses, which take about 2 MiB. Beyond it, the
// address whose last failure is oldest is evicted.
const MaxAddresses = 16384

// Failures rate-limits failed authentications by address. It is safe for concurrent use. While no
// address has failed lately, a check costs one atomic load.
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

// NewFailures returns an empty Failures.
func NewFailures() *Failures {
	return &Failures{entries: map[netip.Prefix]*list.Element{}}
}

// Wait returns how long the address must wait before its next attempt is considered; 0 means that
// it need not wait.
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
	for last := f.recent.Back(); len(f.entries) > MaxAddresses ||
		last.Value.(*failure).bucket.Full(now); last = f.recent.Back() {
		f.recent.Remove(last)
		delete(f.entries, last.Value.(*failure).from)
	}
	f.size.Store(int64(len(f.entries)))
}

// Network returns the addresses that one caller can be expected to control: an IPv4 address, or a
// /64 of IPv6, because addresses within it cost nothing.
func Network(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	// An invalid address gives the zero prefix, so all such callers count as one.
	p, _ := addr.Prefix(bits)
	return p
}
