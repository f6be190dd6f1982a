package highwater

import (
	"sync"
	"testing"
)

func TestMarkIsTheHighest(t *testing.T) {
	var nobody *Mark
	nobody.Note(1)
	var m Mark
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 1000 {
				m.Note(n*8 + i)
			}
		})
	}
	all.Wait()
	m.Note(3)
	if got := m.Most(); got != 7999 {
		t.Errorf("got %d, want 7999", got)
	}
}
