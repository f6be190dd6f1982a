package store

import (
	"errors"
	"fmt"
	"os"
)

// Verify makes sure that the log is where the next host looks for it. If the log was deleted,
// Verify writes it again with all live values, which this host can still read from its open file.
// If another file is in the place of the log, Verify does not touch that file, and returns an error
// for as long as it is there.
func (s *Store) Verify() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.verify()
}

func (s *Store) verify() error {
	if err := s.checkOwner(); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if there, err := s.hasName(); err != nil || there {
		return err
	}
	if err := s.rewrite(); err != nil {
		return fmt.Errorf("%s was deleted, and cannot be written again: %w", s.path, err)
	}
	return nil
}

// hasName reports whether our log is still at its path. Another file at the path is an error.
func (s *Store) hasName() (bool, error) {
	at, err := os.Stat(s.path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("store: %w", err)
	}
	if ours, err := s.f.Stat(); err != nil || !os.SameFile(at, ours) {
		return false, fmt.Errorf(
			"store: %s was replaced by another file, which is left unchanged: move that file away, and "+
				"this host writes its state there again; if the host stops before that, its state is lost",
			s.path,
		)
	}
	return true, nil
}
