package store

import (
	"bufio"
	"errors"
	"fmt"
	"os"

	"mcpd/internal/regular"
)

// rewrite replaces the log by one that holds only the live values. If it fails, the old log stays.
// Afterwards all live values are on the disk, unless the directory could not be synced: then the
// new log is doubted, like a log whose own sync has failed.
func (s *Store) rewrite() error {
	tmp, err := regular.OpenFile(s.path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	next, err := s.copy(tmp)
	if err == nil {
		err = s.sync(tmp)
	}
	if err == nil {
		_, err = s.hasName()
	}
	if err == nil {
		err = os.Rename(tmp.Name(), s.path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("store: %w", errors.Join(err, tmp.Close()))
	}
	_ = s.f.Close() // its values are in the new log, and on the disk
	s.f, s.live, s.size, s.garbage, s.torn, s.syncFailed = tmp, next.live, next.size, 0, false, true
	if err := s.syncDir(); err != nil {
		return err
	}
	s.syncFailed = false
	return nil
}

// copy writes the first line and the live values, and returns a Store with their places. A line
// that cannot be read any more is left out.
func (s *Store) copy(to *os.File) (*Store, error) {
	w := bufio.NewWriterSize(to, 256<<10)
	first, err := appendText(nil, header{Format})
	if err != nil {
		return nil, err
	}
	_, _ = w.Write(first) // Flush returns the error
	next := &Store{size: int64(len(first)), live: make(map[Bucket]map[string]location, len(s.live))}
	for b, values := range s.live {
		for key, at := range values {
			line, err := s.line(at)
			if err != nil {
				continue
			}
			if _, err := text(line); err != nil {
				continue
			}
			_, _ = w.Write(append(line, '\n'))
			next.put(b, key, location{next.size, at.n})
			next.size += int64(at.n)
		}
	}
	return next, w.Flush()
}
