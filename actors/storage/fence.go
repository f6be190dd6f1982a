package storage

import (
	"mcpd/store"
)

// Fence takes what is not written, and who waits for it, from a storage that is stuck; see
// otp.Fenced.
func (k *kept) Fence() any {
	if !k.mu.TryLock() { // it is in the middle of a change
		return nil
	}
	defer k.mu.Unlock()
	next := &kept{
		disk: k.disk, account: k.account, waiting: k.waiting, changes: k.changes, collected: k.collected, places: k.places,
		unwritten: k.unwritten, unsynced: k.unsynced,
	}
	k.waiting, k.changes, k.collected, k.places = nil, nil, nil, map[name]int{}
	return next
}

// onDisk waits for the disk, unless an earlier incarnation still does: then nothing else would come
// back either. Another incarnation may take what is kept meanwhile, which ends this one.
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

// absent reports whether a value is certainly not in the store. A write that has not come back from
// the disk may yet put it there.
func (s *Storage) absent(c store.Change) bool {
	if !s.disk.TryLock() {
		return false
	}
	defer s.disk.Unlock()
	return !s.o.Store.Has(c.Bucket, c.Key)
}
