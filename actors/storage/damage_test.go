package storage_test

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"mcpd/actors/internal/stage"
	"mcpd/actors/storage"
)

// Whatever a crash has done to what is not written yet, the next incarnation does not crash on it, answers whoever is known to wait, and writes.
func TestDamagedStorageWrites(t *testing.T) {
	for seed := range uint64(100) {
		run(t, func(s *stage.Stage, d *disk) {
			s.Heirs.Rand = rand.New(rand.NewPCG(seed, 0))
			d.set(errors.New("full"), nil)
			for n := range 4 {
				s.Send("storage", &storage.Keep{Change: change(strconv.Itoa(n%3), `1`)})
			}
			s.Break("storage", "*storage.Keep")
			s.Send("storage", &storage.Keep{Change: change("x", `1`)})
			s.Heirs.Rand = nil
			d.set(nil, nil)
			time.Sleep(2 * storage.RetryPause)
			done := put(s, change("y", `1`))
			time.Sleep(time.Minute)
			if err := <-done; err != nil || s.Ref("storage").Incarnation() != 2 || len(s.Heirs.Done) == 0 {
				t.Errorf("seed %d: %v, incarnation %d after %q", seed, err, s.Ref("storage").Incarnation(), s.Heirs.Done)
			}
		})
	}
}

// A storage that cannot live with what it was left starts without: who waited is told that it is not written, and what comes is.
func TestStorageStartsWithoutWhatItCannotLiveWith(t *testing.T) {
	run(t, func(s *stage.Stage, d *disk) {
		s.Rest() // the first write, of what an earlier incarnation may have left
		var waited <-chan error
		s.GivesUp("storage", "storage.write", func() { waited = put(s, change("x", `1`)) })
		if err := <-waited; err == nil {
			t.Error("who waited was told that it is written")
		}
		if err := <-put(s, change("y", `1`)); err != nil {
			t.Error(err)
		}
		if got := d.String(); got != "[[y=1]] 0" {
			t.Errorf("written: %s", got)
		}
	})
}
