package stdio

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// order lists the turns that get a place, as "tenant", or "tenant!" for a program that ran before.
func order(q *turns) string {
	var got []string
	for q.free = 1; ; q.free++ {
		t, _ := q.next(time.Time{})
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
		{"a a! a a!", "a! a! a a"},
		{"a a b! b! c!", "a b! c! a b!"},
		{"a! a! a! b b! b", "a! b! a! b a! b"},
		// A crash loop delays another tenant's first start by one program.
		{"a! a! a! a! b", "a! b a! a! a!"},
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
	if got, _ := q.next(time.Time{}); got != all[3] || q.free != 0 {
		t.Errorf("got %+v with %d places left, want the one that is missed and none", got, q.free)
	}
	if got, wait := q.next(time.Time{}); got != nil || wait != 0 {
		t.Error("want nobody to get a place that is not there")
	}
	if q.leave(all[3]) {
		t.Error("a turn that has come: want to hear that it has")
	}
	if !q.leave(all[0]) || q.leave(all[0]) {
		t.Error("want a turn to leave once")
	}
	if got := order(q); got != "b a" {
		t.Errorf("got %q, want the other two", got)
	}
	q, all = waiting("a b")
	q.leave(all[0])
	if got := order(q); got != "b" || len(q.first)+len(q.tenants)+q.waiting != 0 {
		t.Errorf("got %q and %d tenants kept, want b and none", got, len(q.first))
	}
}

// A burst starts at once, and then one start per interval. An unused part of the burst stays
// available.
func TestTurnsHaveARate(t *testing.T) {
	q, _ := waiting(strings.Repeat("a ", 30))
	q.free, q.rate = 100, rate{every: 50 * time.Millisecond, burst: 5}
	begin := time.Unix(1000, 0)
	var got []string
	for _, at := range []time.Duration{0, 49, 50, 60, 200, 10_000} { // ms
		n := 0
		for {
			turn, wait := q.next(begin.Add(at * time.Millisecond))
			if turn == nil {
				got = append(got, fmt.Sprintf("%d then %s", n, wait))
				break
			}
			n++
		}
	}
	if got, want := strings.Join(got,
		", "), "5 then 50ms, 0 then 1ms, 1 then 50ms, 0 then 40ms, 3 then 50ms, 5 then 50ms"; got !=
		want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
