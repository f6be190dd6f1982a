package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Sync returns when all changes so far survive the machine's end too.
//
// A sync that has failed is not made again: the kernel tells once of pages that it could not write, takes them for written from then on, and the next
// sync finds nothing wrong (https://wiki.postgresql.org/wiki/Fsync_Errors). The log is written anew instead, at once, while they can still be read.
// Until that has succeeded every Sync tries it, and nothing else. It is an error once that some values could not be read any more.
func (s *Store) Sync() error {
	s.mu.Lock()
	f, doubted := s.f, s.doubted
	s.mu.Unlock()
	var failed error
	if !doubted {
		failed = s.sync(f)
		if failed == nil || errors.Is(failed, os.ErrClosed) { // one that was rewritten meanwhile was synced
			return nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f != f && !s.doubted { // as above
		return nil
	}
	s.doubted = true
	before := s.count()
	if err := s.rewrite(); err != nil {
		return fmt.Errorf("store: %w", errors.Join(failed, err))
	}
	if gone := before - s.count(); gone > 0 {
		return fmt.Errorf("store: %d values are gone with a sync that failed: %w", gone, errors.Join(failed, errSum))
	}
	return nil
}

// count is how many values there are.
func (s *Store) count() (n int) {
	for _, values := range s.live {
		n += len(values)
	}
	return n
}

// syncDir returns when the log has its name after the machine's end too. A file system that syncs no directories, and says so, has nothing to sync.
func (s *Store) syncDir() error {
	d, err := os.Open(filepath.Dir(s.path))
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer d.Close()
	if err := s.sync(d); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}
