package storage

import (
	"mcpd/store"
)

// Detach takes the unwritten changes, and the callers that wait for them, from a stuck storage; see
// otp.Detachable.
func (k *carriedState) Detach() any {
	if !k.mu.TryLock() { // the stuck storage is amid a change
		return nil
	}
	defer k.mu.Unlock()
	next := &carriedState{
		disk: k.disk, account: k.account, waiting: k.waiting, changes: k.changes, collected: k.collected,
		indexes:   k.indexes,
		unwritten: k.unwritten, unsynced: k.unsynced,
	}
	k.waiting, k.changes, k.collected, k.indexes = nil, nil, nil, map[name]int{}
	return next
}

// onDisk runs a disk operation, unless an earlier incarnation still waits for the disk: then this
// operation would not return either. Meanwhile another incarnation may take the carried state,
// which ends this one.
func (s *Storage) onDisk(f func() error) error {
	if !s.disk.TryLock() {
		return errBusy
	}
	err := func() error {
		s.mu.Unlock()
		defer s.mu.Lock()
		defer s.disk.Unlock()
		return f()
	}()
	s.p.Check()
	return err
}

// absent reports whether a value is certainly not in the store. A write that has not returned from
// the disk may still put it there.
func (s *Storage) absent(c store.Change) bool {
	if !s.disk.TryLock() {
		return false
	}
	defer s.disk.Unlock()
	return !s.o.Store.Has(c.Bucket, c.Key)
}
