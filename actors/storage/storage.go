// Package storage holds the only writer of the host's state: the actor that writes to the store the
// state that must survive the host. Pending changes are written in groups. The package does not
// know what the values mean.
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

// RetryPause is the pause before a failed write is retried.
const RetryPause = time.Second

// SyncPause is the pause between a write and its sync, so that one sync serves many changes. A
// written change survives the death of the host without a sync: see store.Apply.
const SyncPause = 100 * time.Millisecond

// VerifyPause is how long the deletion of the state may stay unnoticed while nothing is written.
// Every write checks for it too.
const VerifyPause = 2 * time.Second

// Writer is the part of the store that is used here.
type Writer interface {
	Apply([]store.Change) error
	Has(store.Bucket, string) bool
	Verify() error
	Sync() error
}

// Options configure a Storage.
type Options struct {
	Store Writer
	// More hands out changes that are gathered elsewhere, in parts, and reports whether there are
	// others. It is not called while nothing can be written, so its implementation bounds them. Nil
	// has none.
	More func() (part []Keep, others bool)
	// Account returns the byte budget of a tenant; nil counts nothing. The host's own changes count
	// for tenant "".
	Account func(tenant string) *quota.Account
	Emit    telemetry.Sink
	// Faults may make writes and syncs fail, and syncs slow; nil is none.
	Faults *fault.Registry
}

// Storage is the behaviour of core/storage.
type Storage struct {
	otp.Base
	o          Options
	p          *otp.Process
	writing    bool // a write is due, or waits for its retry
	mayCollect bool // there may be changes to collect
	syncing    bool // a sync is due, or in progress
	*carriedState
}

// carriedState is the carried state: the changes that are not written yet.
type carriedState struct {
	// mu is held while a message is handled, except during disk operations, and by Detach.
	mu      sync.Mutex
	disk    *sync.Mutex // held by the incarnation that waits for the disk
	account func(tenant string) *quota.Account
	waiting []*Put
	changes []change
	// collected holds changes that were gathered elsewhere and are not in changes yet.
	collected []Keep
	// indexes is the index of each name in changes, which hold only the last change of a name.
	indexes map[name]int
	// unwritten and unsynced say why the last write and the last sync failed. The operator was told of
	// a failure if either is set.
	unwritten, unsynced string
}

func (k *carriedState) failing() string { return cmp.Or(k.unwritten, k.unsynced) }

// errUnwritten is returned while the disk fails; the write is retried soon.
var errUnwritten = errors.New("the state cannot be written now")

// errBusy is returned while an earlier incarnation still waits for the disk.
var errBusy = errors.New("the disk has not ended an earlier write")

type name struct {
	bucket store.Bucket
	key    string
}

// change is a change that counts for its tenant until it is written.
type change struct {
	Keep
	counted *quota.Reservation
}

func nameOf(c store.Change) name { return name{c.Bucket, c.Key} }

// Abandon fails every waiting caller, because nothing will be written any more.
func (k *carriedState) Abandon(reason error) {
	for _, p := range k.waiting {
		p.Fail(reason)
	}
	k.waiting = nil
	k.release()
}

// release drops the changes, and releases their reservations.
func (k *carriedState) release() {
	for _, c := range k.changes {
		c.counted.Release()
	}
	clear(k.changes) // collected values may be large
	k.changes = k.changes[:0]
	clear(k.indexes)
}

// Status is shown in the tree, and checked for readiness.
// Failing says why the state cannot be written; empty when it can.
type Status struct{ Failing string }

// Messages that the storage sends to itself.
type (
	write  struct{}
	flush  struct{}
	verify struct{}
)

// New makes one incarnation.
func New(o Options) *Storage {
	if o.Account == nil {
		o.Account = func(string) *quota.Account { return nil }
	}
	if o.More == nil {
		o.More = func() ([]Keep, bool) { return nil, false }
	}
	// The previous incarnation may have received a Collect.
	return &Storage{o: o, mayCollect: true}
}

// Init restores the unwritten changes.
func (s *Storage) Init(p *otp.Process) error {
	s.p = p
	var restored bool
	if s.carriedState, restored = p.CarriedState().(*carriedState); !restored {
		s.carriedState = &carriedState{
			disk: new(sync.Mutex), account: s.o.Account, indexes: map[name]int{},
		}
		p.SetCarriedState(s.carriedState)
	} else {
		s.syncLater() // the previous incarnation may have had one due
	}
	p.SetStatus(Status{s.failing()})
	p.After(VerifyPause, verify{})
	s.scheduleWrite()
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
			m.AnswerLater()
			s.waiting = append(s.waiting, m)
		}
		s.keep(Keep(m.Req))
		s.scheduleWrite()
	case *Keep:
		s.accept(m)
		s.scheduleWrite()
	case Collect:
		s.mayCollect = true
		s.scheduleWrite()
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

// Terminate writes and syncs the remaining changes.
func (s *Storage) Terminate(_ *otp.Process, reason error) {
	if !otp.IsNormal(reason) {
		return // the next incarnation does it
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.write(); s.unwritten == "" && s.mayCollect; {
		s.write()
	}
	_ = s.onDisk(s.o.Store.Verify) // the operator was told of a failure
	_ = s.onDisk(s.o.Store.Sync)   // the caller that closes the store gets the error
}

// add keeps a change until it is written.
func (k *carriedState) add(c Keep) {
	n := nameOf(c.Change)
	counted := k.account(c.Tenant).Count(quota.PendingWrites, len(c.Key)+len(c.Value))
	if i, ok := k.indexes[n]; ok {
		k.changes[i].counted.Release()
		k.changes[i] = change{c, counted}
	} else {
		k.indexes[n] = len(k.changes)
		k.changes = append(k.changes, change{c, counted})
	}
}

// keep keeps a change until it is written. A deletion of a value that was never written is dropped
// together with the value. So values that come and go while the disk fails leave nothing behind.
func (s *Storage) keep(c Keep) {
	if c.Value == nil && s.absent(c.Change) {
		s.drop(nameOf(c.Change))
		return
	}
	s.add(c)
}

// drop takes back a pending change, if there is one. Callers that wait for it get a success: the
// result is the same as if it had been written and deleted.
func (s *Storage) drop(n name) {
	if i, ok := s.indexes[n]; ok {
		last := len(s.changes) - 1
		s.changes[i].counted.Release()
		moved := s.changes[last]
		s.changes[i], s.changes[last] = moved, change{}
		s.changes = s.changes[:last]
		s.indexes[nameOf(moved.Change)] = i
		delete(s.indexes, n)
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(p *Put) bool {
		mine := p.Req.Bucket == n.bucket && p.Req.Key == n.key
		if mine {
			p.Reply(struct{}{})
		}
		return mine
	})
}

// scheduleWrite schedules a write of the pending changes, together with those that come before it
// is handled. After a failure it schedules a write in any case, to try the disk.
func (s *Storage) scheduleWrite() {
	if !s.writing && (s.mayCollect || len(s.changes) > 0 || s.unwritten != "") {
		s.writing = s.p.Post(write{}) == nil
	}
}

// collect takes the changes that are gathered elsewhere, unless changes are pending on a failing
// disk.
func (s *Storage) collect() {
	if !s.mayCollect || s.unwritten != "" && len(s.changes) > 0 {
		return
	}
	if len(s.collected) == 0 {
		s.collected, s.mayCollect = s.o.More()
	}
	for len(s.collected) > 0 { // a crash costs only the change in hand
		k := s.collected[0]
		s.collected = s.collected[1:]
		if !s.p.OnBehalf(k.Tenant, func() { s.accept(&k) }) {
			_ = s.p.Send(s.p.Self(), &k) // it waits until the tenant's messages are accepted again
		}
	}
	s.collected = nil
}

// accept keeps a change, if it is valid. An invalid one is reported, and an earlier pending change
// of the same name stays.
func (s *Storage) accept(k *Keep) {
	if k.Check() != nil {
		s.o.Emit(telemetry.Rejected{
			Where: telemetry.Where{Tenant: k.Tenant, Path: s.p.Path()}, Reason: "state",
		})
		return
	}
	s.keep(*k)
}

// write writes all pending changes. After a failure it writes even if there are none, because only
// a write shows that the disk works again.
func (s *Storage) write() {
	s.collect()
	changes := make([]store.Change, len(s.changes))
	for i, c := range s.changes {
		changes[i] = c.Change
	}
	if len(changes) == 0 {
		if s.unwritten == "" {
			s.scheduleWrite()
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
	s.scheduleWrite()
}

// apply writes the changes, unless a fault simulates a failing disk. The fault strikes before the
// store opens, writes or renames any file.
func (s *Storage) apply(changes []store.Change) error {
	if err := s.refused(s.p.Context(), fault.StoreWrite); err != nil {
		return err
	}
	return s.onDisk(func() error { return s.o.Store.Apply(changes) })
}

// sync syncs the written changes, after the delay of a fault if there is one.
func (s *Storage) sync(ctx context.Context) error {
	if err := s.refused(ctx, fault.StoreSync); err != nil {
		return err
	}
	return s.o.Store.Sync()
}

// refused returns the error of a disk that a fault has made full or read-only.
func (s *Storage) refused(ctx context.Context, place fault.Place) error {
	switch e := s.o.Faults.At(ctx, place, fault.Who{}); e.Action {
	case fault.Fail:
		return fmt.Errorf("%w: %w", e, syscall.ENOSPC)
	case fault.ReadOnly:
		return fmt.Errorf("%w: %w", e, syscall.EROFS)
	}
	return nil
}

// verify checks that the log is still in its place. A pending write checks that by itself.
func (s *Storage) verify() {
	if !s.writing {
		if err := s.onDisk(s.o.Store.Verify); err != nil {
			s.failed(&s.unwritten, err)
		} else {
			s.scheduleWrite()
		}
	}
	s.p.After(VerifyPause, verify{})
}

// syncLater schedules a sync if none is due.
func (s *Storage) syncLater() {
	if !s.syncing {
		s.syncing = true
		s.p.After(SyncPause, flush{})
	}
}

// synced handles the result of a sync. A failed sync is repeated.
func (s *Storage) synced(err error) {
	s.failed(&s.unsynced, err)
	if s.syncing = err != nil; s.syncing {
		s.p.After(RetryPause, flush{})
	}
}

// failed records the result of a write or sync, and reports a change between working and failing.
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
