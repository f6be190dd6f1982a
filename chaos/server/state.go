package server

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
)

// Files of the state.
const (
	faultFile  = "fault"
	startsFile = "starts"
)

// keep stores a fault for later processes.
func (s *server) keep(f Fault) error {
	if err := s.forget(); err != nil {
		return err
	}
	if err := os.MkdirAll(s.State, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.State, faultFile), encode(f), 0o600)
}

// forget removes the stored fault and the count of starts.
func (s *server) forget() error {
	if s.State == "" {
		return nil
	}
	for _, name := range []string{faultFile, startsFile} {
		if err := os.Remove(filepath.Join(s.State, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// resume switches on the fault in the state, if there is one, and runs its start. It ignores a
// state that cannot be read.
func (s *server) resume() {
	if s.State == "" {
		return
	}
	data, err := os.ReadFile(filepath.Join(s.State, faultFile))
	var f Fault
	if err != nil || json.Unmarshal(data, &f) != nil || !f.on(time.Now()) {
		return
	}
	m, ok := find(f.Name)
	if !ok || m.inNewProcess == nil {
		return
	}
	if n, err := appended(s.State, startsFile, "."); err != nil || f.Times > 0 && n > int64(f.Times) {
		return
	}
	s.set(f)
	m.inNewProcess(s, f)
}
