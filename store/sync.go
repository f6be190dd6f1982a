package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Sync returns when all changes so far survive a crash of the machine too.
//
// A failed sync is not repeated: the kernel reports a page that it could not write only once, and
// then counts the page as written, so that the next sync succeeds
// (https://wiki.postgresql.org/wiki/Fsync_Errors). Instead the log is rewritten at once, while its
// pages can still be read. Until a rewrite succeeds, Sync only repeats the rewrite. If some values
// could not be read any more, one Sync returns an error.
func (s *Store) Sync() error {
	s.mu.Lock()
	f, doubted := s.f, s.syncFailed
	s.mu.Unlock()
	var failed error
	if !doubted {
		failed = s.sync(f)
		if failed == nil || errors.Is(failed, os.ErrClosed) { // a rewrite has synced it
			return nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f != f && !s.syncFailed { // as above
		return nil
	}
	s.syncFailed = true
	before := s.count()
	if err := s.rewrite(); err != nil {
		return fmt.Errorf("store: %w", errors.Join(failed, err))
	}
	if gone := before - s.count(); gone > 0 {
		return fmt.Errorf("store: %d values were lost in a sync that failed: %w", gone,
			errors.Join(failed, errSum))
	}
	return nil
}

// count returns the number of values.
func (s *Store) count() (n int) {
	for _, values := range s.live {
		n += len(values)
	}
	return n
}

// syncDir returns when the log's name survives a crash of the machine too. A file system that
// reports that it cannot sync directories has nothing to sync.
func (s *Store) syncDir() error {
	d, err := os.Open(filepath.Dir(s.path))
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer d.Close()
	if err := s.sync(d); err != nil && !errors.Is(err, syscall.EINVAL) &&
		!errors.Is(err, syscall.ENOTSUP) {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}
