// Package storage holds the one writer of the host's state: the actor that puts into the store what must survive the host. What waits is
// written in groups. It does not know what the values mean.
package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	"mcpd/gateway/quota"
	"mcpd/internal/fault"
	"mcpd/store"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// RetryPause is when a change that could not be written is tried again.
const RetryPause = time.Second

// SyncPause is how long what was written may wait for the disk, so that one sync serves many changes. The death of the host does not wait for
// it: see store.Apply.
const SyncPause = 100 * time.Millisecond

// VerifyPause is how long a state that was deleted may stay unnoticed while nothing is written. It is looked for with every write too.
const VerifyPause = 2 * time.Second

// Writer is the store, as far as it is written here.
type Writer interface {
	Apply([]store.Change) error
	Has(store.Bucket, string) bool
	Verify() error
	Sync() error
}

// Options are what a storage is made from.
type Options struct {
	Store Writer
	// More hands out changes that are gathered elsewhere, a part of them at a time, and reports whether there are others. It is not asked
	// while nothing can be written, so whoever gathers bounds them. Nil has none.
	More func() (part []Keep, others bool)
	// Kept is what a tenant keeps; nil counts nothing. What is the host's own is of the tenant "".
	Kept func(tenant string) *quota.Account
	Emit telemetry.Sink
	// Faults may make writes and syncs fail, and syncs slow; nil is none.
	Faults *fault.Registry
}

// Storage is the behaviour of core/storage.
type Storage struct {
	otp.Base
	o       Options
	p       *otp.Process
	writing bool // a write is due, or is going to be tried again
	more    bool // there are changes to collect
	syncing bool // a sync is due, or on its way
	*kept
}

// kept is the heir: what is not written yet.
type kept struct {
	// mu is held while a message is handled, but not while the disk is waited for, and by Fence.
	mu      sync.Mutex
	disk    *sync.Mutex // held by whichever incarnation waits for the disk
	account func(tenant string) *quota.Account
	waiting []*Put
	changes []change
	// collected is what was gathered elsewhere and is not among the changes yet.
	collected []Keep
	places    map[name]int // of the last change of each name among them, because only that counts
	// unwritten and unsynced say why the last write and the last sync failed. Whether either did is what an operator was told.
	unwritten, unsynced string
}

func (k *kept) failing() string { return cmp.Or(k.unwritten, k.unsynced) }

// errUnwritten is for who would wait for a disk that has taken nothing the last time, which is tried again before long.
var errUnwritten = errors.New("the state cannot be written now")

// errBusy is why nothing is written while an earlier incarnation has not come back from the disk.
var errBusy = errors.New("the disk has not ended an earlier write")

type name struct {
	bucket store.Bucket
	key    string
}

// change is one that counts for its tenant until it is written.
type change struct {
	Keep
	counted *quota.Reservation
}

func nameOf(c store.Change) name { return name{c.Bucket, c.Key} }

// Abandon answers everyone who waits: nobody will write.
func (k *kept) Abandon(reason error) {
	for _, p := range k.waiting {
		p.Fail(reason)
	}
	k.waiting = nil
	k.release()
}

// release lets go of what the changes count, and of the changes.
func (k *kept) release() {
	for _, c := range k.changes {
		c.counted.Release()
	}
	clear(k.changes) // what was collected may be large
	k.changes = k.changes[:0]
	clear(k.places)
}

// Status is what the tree shows, and readiness looks at.
type Status struct{ Failing string } // why the state cannot be written; empty when it can

// Messages that only the storage sends itself.
type (
	write  struct{}
	flush  struct{}
	verify struct{}
)

// New makes one incarnation.
func New(o Options) *Storage {
	if o.Kept == nil {
		o.Kept = func(string) *quota.Account { return nil }
	}
	if o.More == nil {
		o.More = func() ([]Keep, bool) { return nil, false }
	}
	return &Storage{o: o, more: true} // the last incarnation may have been told so
}

// Init takes over what was not written.
func (s *Storage) Init(p *otp.Process) error {
	s.p = p
	var heir bool
	if s.kept, heir = p.Heir().(*kept); !heir {
		s.kept = &kept{disk: new(sync.Mutex), account: s.o.Kept, places: map[name]int{}}
		p.SetHeir(s.kept)
	} else {
		s.syncLater() // the last incarnation may have been about to
	}
	p.SetStatus(Status{s.failing()})
	p.After(VerifyPause, verify{})
	s.due()
	return nil
}

// Receive handles one message.
func (s *Storage) Receive(p *otp.Process, msg any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.Check()
	switch m := msg.(type) {
	case *Put:
		if err := m.Req.Check(); err != nil {
			m.Fail(err)
			return nil
		}
		if s.unwritten != "" && s.writing {
			m.Fail(errUnwritten)
		} else {
			s.waiting = append(s.waiting, m)
		}
		s.keep(Keep(m.Req))
		s.due()
	case *Keep:
		s.take(m)
		s.due()
	case Collect:
		s.more = true
		s.due()
	case write:
		s.writing = false
		s.write()
	case flush:
		s.p.Go("sync", s.sync)
	case verify:
		s.verify()
	case otp.Done:
		s.synced(m.Err)
	}
	return nil
}

// Terminate writes what is left, and syncs it.
func (s *Storage) Terminate(_ *otp.Process, reason error) {
	if !otp.IsNormal(reason) {
		return // the next incarnation does
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.write(); s.unwritten == "" && s.more; {
		s.write()
	}
	_ = s.onDisk(s.o.Store.Verify) // an operator was told
	_ = s.onDisk(s.o.Store.Sync)   // whoever closes the store hears of it
}

// add keeps a change until it is written.
func (k *kept) add(c Keep) {
	n := nameOf(c.Change)
	counted := k.account(c.Tenant).Hold(quota.Unwritten, len(c.Key)+len(c.Value))
	if i, ok := k.places[n]; ok {
		k.changes[i].counted.Release()
		k.changes[i] = change{c, counted}
	} else {
		k.places[n] = len(k.changes)
		k.changes = append(k.changes, change{c, counted})
	}
}

// keep keeps a change until it is written. What is not written need not be deleted: however long the disk takes nothing, what comes and goes
// meanwhile leaves nothing behind.
func (s *Storage) keep(c Keep) {
	if c.Value == nil && s.absent(c.Change) {
		s.drop(nameOf(c.Change))
		return
	}
	s.add(c)
}

// drop takes back a change that waits, if one does. Whoever waits for the name has what he wanted: it is as if it had been written, and deleted.
func (s *Storage) drop(n name) {
	if i, ok := s.places[n]; ok {
		last := len(s.changes) - 1
		s.changes[i].counted.Release()
		moved := s.changes[last]
		s.changes[i], s.changes[last] = moved, change{}
		s.changes = s.changes[:last]
		s.places[nameOf(moved.Change)] = i
		delete(s.places, n)
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(p *Put) bool {
		mine := p.Req.Bucket == n.bucket && p.Req.Key == n.key
		if mine {
			p.Reply(struct{}{})
		}
		return mine
	})
}

// due has what waits written: with whatever comes before the message is handled. It has the disk tried when that took nothing the last time.
func (s *Storage) due() {
	if !s.writing && (s.more || len(s.changes) > 0 || s.unwritten != "") {
		s.writing = s.p.Post(write{}) == nil
	}
}

// collect takes what is gathered elsewhere, unless something waits for a disk that takes nothing.
func (s *Storage) collect() {
	if !s.more || s.unwritten != "" && len(s.changes) > 0 {
		return
	}
	if len(s.collected) == 0 {
		s.collected, s.more = s.o.More()
	}
	for len(s.collected) > 0 { // a crash costs the one that is taken
		k := s.collected[0]
		s.collected = s.collected[1:]
		if !s.p.OnBehalf(k.Tenant, func() { s.take(&k) }) {
			_ = s.p.Send(s.p.Self(), &k) // it waits until messages of the tenant are taken again
		}
	}
	s.collected = nil
}

// take keeps a change, if it is one. What was kept of the name before is kept on otherwise.
func (s *Storage) take(k *Keep) {
	if k.Check() != nil {
		s.o.Emit(telemetry.Rejected{Where: telemetry.Where{Tenant: k.Tenant, Path: s.p.Path()}, Reason: "state"})
		return
	}
	s.keep(*k)
}

// write writes everything that waits. After a failure it writes though nothing waits any more: only a write tells that the disk takes one.
func (s *Storage) write() {
	s.collect()
	changes := make([]store.Change, len(s.changes))
	for i, c := range s.changes {
		changes[i] = c.Change
	}
	if len(changes) == 0 {
		if s.unwritten == "" {
			s.due()
			return
		}
		changes = []store.Change{store.Probe()}
	}
	err := s.apply(changes)
	for _, p := range s.waiting {
		if err != nil {
			p.Fail(err)
		} else {
			p.Reply(struct{}{})
		}
	}
	s.waiting = nil
	s.failed(&s.unwritten, err)
	if err != nil {
		s.writing = true
		s.p.After(RetryPause, write{})
		return
	}
	s.release()
	s.syncLater()
	s.due()
}

// apply writes the changes, unless a fault says that the disk takes none. That is before the store opens, writes or renames anything.
func (s *Storage) apply(changes []store.Change) error {
	if err := s.refused(s.p.Context(), fault.StoreWrite); err != nil {
		return err
	}
	return s.onDisk(func() error { return s.o.Store.Apply(changes) })
}

// sync syncs what was written, after as long as a fault says.
func (s *Storage) sync(ctx context.Context) error {
	if err := s.refused(ctx, fault.StoreSync); err != nil {
		return err
	}
	return s.o.Store.Sync()
}

// refused is the error of a disk that a fault has filled, or made read-only.
func (s *Storage) refused(ctx context.Context, place fault.Place) error {
	switch e := s.o.Faults.At(ctx, place, fault.Who{}); e.Action {
	case fault.Fail:
		return fmt.Errorf("%w: %w", e, syscall.ENOSPC)
	case fault.ReadOnly:
		return fmt.Errorf("%w: %w", e, syscall.EROFS)
	}
	return nil
}

// verify finds out whether what was written is still there. Where something is going to be written, that does.
func (s *Storage) verify() {
	if !s.writing {
		if err := s.onDisk(s.o.Store.Verify); err != nil {
			s.failed(&s.unwritten, err)
		} else {
			s.due()
		}
	}
	s.p.After(VerifyPause, verify{})
}

// syncLater sees to it that there is a sync before long.
func (s *Storage) syncLater() {
	if !s.syncing {
		s.syncing = true
		s.p.After(SyncPause, flush{})
	}
}

// synced hears what became of a sync. One that failed is made again.
func (s *Storage) synced(err error) {
	s.failed(&s.unsynced, err)
	if s.syncing = err != nil; s.syncing {
		s.p.After(RetryPause, flush{})
	}
}

// failed takes note of whether the state can be written, or synced, and tells of a change of that.
func (s *Storage) failed(which *string, err error) {
	before := s.failing()
	if *which = ""; err != nil {
		*which = err.Error()
	}
	after := s.failing()
	if after != before {
		s.p.SetStatus(Status{after})
	}
	switch {
	case (after == "") == (before == ""):
	case after != "":
		s.o.Emit(telemetry.StateNotWritten{Where: telemetry.Where{Path: s.p.Path()}, Reason: after})
	default:
		s.o.Emit(telemetry.StateWritten{Where: telemetry.Where{Path: s.p.Path()}})
	}
}
