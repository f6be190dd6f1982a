package store

import (
	"errors"
	"fmt"
	"os"
)

// Verify makes sure that the log is where the next host looks for it. Where it was deleted it is written anew, with all that is live: this host
// can still read what has no name any more. What lies there in its place is somebody else's and is left alone; that is an error for as long as
// it lies there.
func (s *Store) Verify() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.verify()
}

func (s *Store) verify() error {
	if err := s.own(); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if there, err := s.there(); err != nil || there {
		return err
	}
	if err := s.rewrite(); err != nil {
		return fmt.Errorf("%s was deleted, and cannot be written anew: %w", s.path, err)
	}
	return nil
}

// there reports whether our log has its name. That something else has it is an error.
func (s *Store) there() (bool, error) {
	at, err := os.Stat(s.path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("store: %w", err)
	}
	if ours, err := s.f.Stat(); err != nil || !os.SameFile(at, ours) {
		return false, fmt.Errorf("store: %s was replaced by another file, which is left as it is: move that away, and this host writes its state there anew; stopped before, it loses what it has", s.path)
	}
	return true, nil
}
