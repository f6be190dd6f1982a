package stdio

import (
	"strings"
	"testing"
)

// order is who gets a place, one after the other, as "tenant" or "tenant!" for a program that is missed.
func order(q *turns) string {
	var got []string
	for q.free = 1; ; q.free++ {
		t := q.next()
		if t == nil {
			return strings.Join(got, " ")
		}
		name := t.tenant
		if t.again {
			name += "!"
		}
		got = append(got, name)
	}
}

func waiting(names string) (*turns, []*turn) {
	q := &turns{}
	var all []*turn
	for _, name := range strings.Fields(names) {
		t := &turn{tenant: strings.TrimSuffix(name, "!"), again: strings.HasSuffix(name, "!")}
		q.wait(t)
		all = append(all, t)
	}
	return q, all
}

func TestTurnsAreFair(t *testing.T) {
	for _, c := range []struct{ waiting, want string }{
		{"", ""},
		{"a a a", "a a a"},
		{"a a a a b b c", "a b c a b a a"},
		{"a a b! b! c!", "b! c! b! a a"},
		{"a! a! a! b b! b", "a! b! a! a! b b"},
	} {
		if q, _ := waiting(c.waiting); order(q) != c.want {
			q, _ = waiting(c.waiting)
			t.Errorf("%q: got %q, want %q", c.waiting, order(q), c.want)
		}
	}
}

func TestTurnsGoToWhoStillWaits(t *testing.T) {
	q, all := waiting("a a b a!")
	q.free = 1
	if got := q.next(); got != all[3] || q.free != 0 {
		t.Errorf("got %+v with %d places left, want the one that is missed and none", got, q.free)
	}
	if q.next() != nil {
		t.Error("want nobody to get a place that is not there")
	}
	if q.leave(all[3]) {
		t.Error("a turn that has come: want to hear that it has")
	}
	if !q.leave(all[0]) || q.leave(all[0]) {
		t.Error("want a turn to leave once")
	}
	if got := order(q); got != "a b" {
		t.Errorf("got %q, want the other two", got)
	}
	q, all = waiting("a b")
	q.leave(all[0])
	if got := order(q); got != "b" || len(q.first.waiting) != 0 {
		t.Errorf("got %q and %d tenants kept, want b and none", got, len(q.first.waiting))
	}
}
