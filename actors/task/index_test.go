package task

import (
	"fmt"
	"testing"
	"time"
)

// A full tenant replaces a task whose outcome was fetched, whoever its principal is, and no other.
func TestFullTenant(t *testing.T) {
	var i Index
	var all []*Entry
	for n := range MaxTenant {
		e := &Entry{Principal: fmt.Sprint(n % 20), Made: time.Unix(int64(n), 0)}
		if err := i.add(e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	add := func() error { return i.add(&Entry{Principal: "new", Made: time.Unix(MaxTenant, 0)}) }
	all[7].stage.Store(over)
	if add() == nil {
		t.Error("somebody else's outcome, which nobody has, is gone")
	}
	all[9].stage.Store(delivered)
	all[8].stage.Store(delivered)
	if err := add(); err != nil || first(i.all["8"], delivered) >= 0 ||
		first(i.all["9"], delivered) < 0 || i.total != MaxTenant {
		t.Errorf("%v, and the oldest is there: %v", err, i.all["8"][0])
	}
	if err := i.add(&Entry{Principal: "7"}); err != nil || first(i.all["7"], over) >= 0 ||
		first(i.all["9"], delivered) < 0 {
		t.Errorf("%v, and the principal's own is there", err)
	}
	i.remove(all[8])
	if i.total != MaxTenant {
		t.Errorf("%d are counted, want %d", i.total, MaxTenant)
	}
}
