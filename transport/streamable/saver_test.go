package streamable

import (
	"fmt"
	"slices"
	"testing"
)

// Changes are returned in the order in which they occurred, so that equal histories give equal
// results.
func TestChangesAreSavedInTheirOrder(t *testing.T) {
	for range 5 {
		s := newSaver(func() {}, 1<<20)
		var want []string
		for i := range 20 {
			key := fmt.Sprint("key ", (i*7)%20)
			s.save(key, 0, []byte("x"))
			want = append(want, key)
		}
		s.forget(want[3]) // never returned by unsaved, so there is nothing to delete
		want = slices.Delete(want, 3, 4)
		s.discard("stray")
		want = append(want, "stray")
		part, more := s.unsaved()
		var got []string
		for _, c := range part {
			got = append(got, c.Key)
		}
		if !slices.Equal(got, want) || more {
			t.Fatalf("got %q, want %q", got, want)
		}
		s.forget(want[0])
		if part, _ := s.unsaved(); len(part) != 1 || part[0].Key != want[0] || part[0].Value != nil {
			t.Fatalf("forgotten: %+v", part)
		}
	}
}
